// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Crypto
import Encodings

/// The outcome of judging an App Attest assertion.
package enum AppAssertionVerdict: Sendable {
    /// Signed by the key for this app; the counter must still be compared and set in one step.
    case accepted(counter: UInt32, app: AppleApp, extensions: AppAttestExtensions)
    /// Not so.
    case refused(AttestationReason)
}

/// A registered App Attest key, ready to check assertions with; read once, then kept as long as its owner likes.
package struct AssertionKey: Sendable {
    private let key: PublicKey

    /// The key of `04 || x || y`.
    package init(point: [UInt8]) throws(CryptoError) {
        key = try PublicKey(point: point, on: .p256)
    }

    /// Whether the key signed `nonce`: the signature is ECDSA-SHA256 with the nonce as message, two hashes in all.
    func signed(_ nonce: Digest, _ signature: [UInt8]) -> Bool {
        key.verifies(signature.span, of: nonce.span, .ecdsa(.sha256))
    }
}

/// Judges App Attest assertions (SAL-005).
package struct AppAssertionVerifier: Sendable {
    /// The pairs that the app has registered now, which may be fewer than when the key was.
    package let apps: [AppleApp]

    /// Longer assertions are refused before anything is read: real ones take 200 bytes.
    package static let maximumBytes = 65_536

    /// A verifier for one app.
    package init(apps: [AppleApp]) {
        self.apps = apps
    }

    /// Judges `assertion` as the client sent it, in base64 of either alphabet.
    package func verdict(
        on assertion: String,
        key: AssertionKey,
        previousCounter: UInt32,
        clientDataHash: [UInt8]
    ) -> AppAssertionVerdict {
        do {
            let object = try Base64.decode(assertion, alphabet: .either, padding: .optional, limit: Self.maximumBytes)
            return verdict(onObject: object, key: key, previousCounter: previousCounter, clientDataHash: clientDataHash)
        } catch {
            return .refused(.malformed)
        }
    }

    /// Judges the decoded object.
    package func verdict(
        onObject object: [UInt8],
        key: AssertionKey,
        previousCounter: UInt32,
        clientDataHash: [UInt8]
    ) -> AppAssertionVerdict {
        guard object.count <= Self.maximumBytes else { return .refused(.malformed) }
        let signature: [UInt8]
        let signed: [UInt8]
        let data: AuthenticatorData
        do {
            (signature, signed) = try Self.parts(of: object)
            data = try AuthenticatorData(assertion: signed)
        } catch {
            return .refused(.malformed)
        }
        // The signature comes before the counter, or a forger could burn counters.
        guard key.signed(SHA256.hash(signed + clientDataHash), signature) else { return .refused(.badSignature) }
        guard let app = apps.first(where: { $0.identifierHash == data.identifierHash }) else {
            return .refused(.appNotRegistered)
        }
        guard data.counter > previousCounter else { return .refused(.counterNotIncreasing) }
        return .accepted(counter: data.counter, app: app, extensions: data.extensions)
    }

    private static func parts(of object: [UInt8]) throws -> (signature: [UInt8], data: [UInt8]) {
        let map = try CBORReader.value(of: object)
        guard map.map?.count == 2, let signature = map["signature"]?.bytes, let data = map["authenticatorData"]?.bytes
        else { throw AppAttestMalformation() }
        return (signature, data)
    }
}
