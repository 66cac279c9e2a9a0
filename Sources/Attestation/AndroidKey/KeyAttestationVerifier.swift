// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings

/// What an Android key attestation is worth.
package enum KeyAttestationTrust: String, Sendable, Hashable {
    /// Every check passed.
    case hardware
    /// Bound to this challenge and a registered app, but the device's state is not vouched for.
    case degraded
    /// Worth nothing.
    case refused
}

/// The outcome of judging an Android key attestation.
package struct KeyAttestationVerdict: Sendable {
    /// What it is worth.
    package let trust: KeyAttestationTrust
    /// Why, the deciding reason first; empty for `hardware`.
    package let reasons: [AttestationReason]
    /// Who vouches for it; nil unless the chain ends at an anchor.
    package let provenance: Provenance?
    /// The package that matched; nil if refused.
    package let package: String?
    /// What was read, where it could be.
    package let description: KeyDescription?

    static func refused(_ reason: AttestationReason, _ description: KeyDescription? = nil) -> KeyAttestationVerdict {
        KeyAttestationVerdict(
            trust: .refused,
            reasons: [reason],
            provenance: nil,
            package: nil,
            description: description
        )
    }
}

/// Judges Android key attestations: was this key made for this challenge, by that app, on a sound device.
package struct KeyAttestationVerifier: Sendable {
    /// The authorities that count.
    package let anchors: TrustAnchors
    /// The pairs that the app registered.
    package let apps: [AndroidApp]
    /// The serial numbers that no longer count.
    package let statusList: StatusList

    /// A verifier for one app.
    package init(anchors: TrustAnchors, apps: [AndroidApp], statusList: StatusList) {
        self.anchors = anchors
        self.apps = apps
        self.statusList = statusList
    }

    /// Judges a chain as the client sent it: DER in base64 of either alphabet, leaf first.
    package func verdict(onChain chain: [String], challenges: [[UInt8]], at now: Moment) -> KeyAttestationVerdict {
        guard chain.count <= KeyCertificateChain.maximumCertificates else { return .refused(.malformed) }
        do {
            let limit = Certificate.maximumBytes / 3 * 4 + 4
            let encoded = try chain.map { try Base64.decode($0, alphabet: .either, padding: .optional, limit: limit) }
            return verdict(onEncodedChain: encoded, challenges: challenges, at: now)
        } catch {
            return .refused(.malformed)
        }
    }

    /// Judges a chain of DER certificates, leaf first.
    ///
    /// Refusals come before device states, so that no state of the device hides a proof that is not this app's.
    package func verdict(
        onEncodedChain encoded: [[UInt8]],
        challenges: [[UInt8]],
        at now: Moment
    ) -> KeyAttestationVerdict {
        guard let chain = KeyCertificateChain(encoded, anchors: anchors), let attestation = chain.attestation else {
            return .refused(.malformed)
        }
        let description: KeyDescription
        do {
            description = try KeyDescription(parsing: attestation)
        } catch {
            return .refused(.malformed)
        }
        guard challenges.contains(where: { ConstantTime.equal($0, description.challenge) }) else {
            return .refused(.nonceMismatch, description)
        }
        switch match(description.application) {
        case .failure(let mismatch):
            return .refused(mismatch.reason, description)
        case .success(let app):
            return deviceVerdict(chain, description, app, at: now)
        }
    }

    private struct Mismatch: Error {
        let reason: AttestationReason
    }

    /// Packages of one user id share a signer, so any match of a registered pair is one.
    private func match(_ application: AttestedApplication?) -> Result<AndroidApp, Mismatch> {
        guard let application, !application.packages.isEmpty, !application.signers.isEmpty else {
            return .failure(Mismatch(reason: .noApplicationID))
        }
        let known = apps.filter { app in application.packages.contains { $0.hasSameBytes(as: app.package) } }
        guard !known.isEmpty else { return .failure(Mismatch(reason: .packageMismatch)) }
        let signers = application.signers.compactMap { Digest($0) }
        guard let app = known.first(where: { $0.signers.contains { signers.contains($0) } }) else {
            return .failure(Mismatch(reason: .signingCertificateMismatch))
        }
        return .success(app)
    }

    /// The states of a device in the order in which they decide (OFF-049).
    private func deviceVerdict(
        _ chain: KeyCertificateChain,
        _ description: KeyDescription,
        _ app: AndroidApp,
        at now: Moment
    ) -> KeyAttestationVerdict {
        let states: [(AttestationReason, Bool)] = [
            (.revokedCertificate, chain.certificates.contains { statusList.status(ofSerial: $0.serialText) != nil }),
            (.softwareAttestation, min(description.attestationLevel, description.keyLevel) == .software),
            (.untrustedRoot, chain.anchor == nil),
            (.certificateExpired, !chain.datedCertificates.allSatisfy { $0.isValid(at: now.seconds) }),
            (.noRootOfTrust, description.rootOfTrust == nil),
            (.bootloaderUnlocked, description.rootOfTrust.map { !$0.isLocked } ?? false),
            (.bootNotVerified, description.rootOfTrust.map { $0.bootState != .verified } ?? false),
        ]
        let reasons = states.filter(\.1).map(\.0)
        return KeyAttestationVerdict(
            trust: reasons.isEmpty ? .hardware : .degraded,
            reasons: reasons,
            provenance: chain.anchor?.provenance,
            package: app.package,
            description: description
        )
    }
}
