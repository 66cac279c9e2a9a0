// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings

/// Which of Apple's two environments made a key.
package enum AppAttestEnvironment: String, Sendable, Hashable {
    /// TestFlight and the App Store.
    case production
    /// Builds from Xcode.
    case development

    /// The environment that an AAGUID names.
    init?(identifier: [UInt8]) {
        switch identifier {
        case Array("appattest".utf8) + [UInt8](repeating: 0, count: 7): self = .production
        case Array("appattestdevelop".utf8): self = .development
        default: return nil
        }
    }

    /// The sixteen bytes that name the environment.
    package var identifier: [UInt8] {
        switch self {
        case .production: Array("appattest".utf8) + [UInt8](repeating: 0, count: 7)
        case .development: Array("appattestdevelop".utf8)
        }
    }
}

/// A key that Apple's hardware vouched for: what is kept of it.
package struct AttestedAppleKey: Sendable {
    /// SHA-256 of the point: the raw key id.
    package let keyID: [UInt8]
    /// `04 || x || y`.
    package let point: [UInt8]
    /// The environment that made it.
    package let environment: AppAttestEnvironment
    /// The registered pair that it belongs to.
    package let app: AppleApp
    /// What newer systems say beside.
    package let extensions: AppAttestExtensions
    /// Who vouches for it.
    package let provenance: Provenance
}

/// The outcome of judging an App Attest attestation.
package enum AppAttestationVerdict: Sendable {
    /// The key may be registered.
    case accepted(AttestedAppleKey)
    /// It may not.
    case refused(AttestationReason)
}

/// Judges App Attest attestations: is this a key of that app, made in Apple's hardware, for this challenge (SAL-004).
package struct AppAttestationVerifier: Sendable {
    /// The authorities that count.
    package let anchors: [TrustAnchor]
    /// The pairs that the app registered.
    package let apps: [AppleApp]
    /// The environments that the app accepts.
    package let environments: Set<AppAttestEnvironment>

    /// Longer attestations are refused before anything is read: real ones take 6 KiB.
    package static let maximumBytes = 65_536

    /// A verifier for one app.
    package init(anchors: [TrustAnchor], apps: [AppleApp], environments: Set<AppAttestEnvironment>) {
        self.anchors = anchors
        self.apps = apps
        self.environments = environments
    }

    /// Judges `attestation` and `keyID` as the client sent them, in base64 of either alphabet.
    package func verdict(
        on attestation: String,
        keyID: String,
        clientDataHash: [UInt8],
        at now: Moment
    ) -> AppAttestationVerdict {
        do {
            let object = try Base64.decode(attestation, alphabet: .either, padding: .optional, limit: Self.maximumBytes)
            let keyID = try Base64.decode(keyID, alphabet: .either, padding: .optional, limit: 64)
            return verdict(onObject: object, keyID: keyID, clientDataHash: clientDataHash, at: now)
        } catch {
            return .refused(.malformed)
        }
    }

    /// Judges the decoded object.
    package func verdict(
        onObject object: [UInt8],
        keyID: [UInt8],
        clientDataHash: [UInt8],
        at now: Moment
    ) -> AppAttestationVerdict {
        guard object.count <= Self.maximumBytes else { return .refused(.malformed) }
        do {
            let object = try AttestationObject(parsing: object)
            return judge(object, keyID: keyID, clientDataHash: clientDataHash, at: now)
        } catch {
            return .refused(.malformed)
        }
    }

    private func judge(
        _ object: AttestationObject,
        keyID: [UInt8],
        clientDataHash: [UInt8],
        at now: Moment
    ) -> AppAttestationVerdict {
        let provenance: Provenance
        switch chainVerdict(object, at: now) {
        case .success(let anchor): provenance = anchor.provenance
        case .failure(let broken): return .refused(broken.reason)
        }
        guard let attested = object.data.attestedKey, let certified = object.leafPoint, let nonce = object.nonce else {
            return .refused(.malformed)
        }
        let expected = SHA256.hash(object.authenticatorData + clientDataHash)
        guard nonce == expected else { return .refused(.nonceMismatch) }
        let name = SHA256.hash(certified).bytes
        guard name == keyID, name == attested.credentialID, certified == attested.point else {
            return .refused(.keyMismatch)
        }
        guard object.data.counter == 0 else { return .refused(.malformed) }
        guard let app = apps.first(where: { $0.identifierHash == object.data.identifierHash }) else {
            return .refused(.appNotRegistered)
        }
        guard let environment = AppAttestEnvironment(identifier: attested.environmentID) else {
            return .refused(.malformed)
        }
        guard environments.contains(environment) else {
            return .refused(environment == .development ? .developmentNotAllowed : .productionNotAllowed)
        }
        return .accepted(
            AttestedAppleKey(
                keyID: name,
                point: certified,
                environment: environment,
                app: app,
                extensions: object.data.extensions,
                provenance: provenance
            )
        )
    }

    private struct BrokenChain: Error {
        let reason: AttestationReason
    }

    /// Exactly leaf, intermediate, pinned root, in these places: no path is ever searched for.
    private func chainVerdict(_ object: AttestationObject, at now: Moment) -> Result<TrustAnchor, BrokenChain> {
        let leaf = object.leaf
        let intermediate = object.intermediate
        guard intermediate.maySignCertificates, !leaf.isAuthority, leaf.issuer == intermediate.subject,
            !leaf.hasUnknownCriticalExtension, !intermediate.hasUnknownCriticalExtension,
            let anchor = anchors.first(where: {
                $0.certificate.subject == intermediate.issuer && intermediate.isSigned(by: $0.key)
            }),
            leaf.isSigned(byKeyOf: intermediate)
        else { return .failure(BrokenChain(reason: .untrustedRoot)) }
        let areCurrent = [leaf, intermediate, anchor.certificate].allSatisfy { $0.isValid(at: now.seconds) }
        return areCurrent ? .success(anchor) : .failure(BrokenChain(reason: .certificateExpired))
    }
}

extension Certificate {
    /// Whether an extension that we do not know says that we must.
    fileprivate var hasUnknownCriticalExtension: Bool {
        let known: [OID] = [.basicConstraints, .keyUsage, OID(2, 5, 29, 37)]
        return extensions.contains { $0.isCritical && !known.contains($0.identifier) }
    }
}
