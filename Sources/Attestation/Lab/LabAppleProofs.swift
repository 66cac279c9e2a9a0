// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Crypto
import Encodings

/// Makes App Attest proofs under a lab's authority, good ones and broken ones.
package struct LabAppleProofs: Sendable {
    /// What is wrong with an attestation.
    package enum AttestationFault: String, Sendable, CaseIterable {
        case nonce, keyID = "key-id", counter, app, chain, expired, environment, truncated
    }

    /// What is wrong with an assertion.
    package enum AssertionFault: String, Sendable, CaseIterable {
        case signature, app, counter, truncated
    }

    /// An attestation and the key that it is about.
    package struct Attestation: Sendable {
        /// As `generateKey` would return it.
        package let keyID: String
        /// As `attestKey` would return it, in base64.
        package let object: String
        /// The key, for assertions later.
        package let key: PrivateKey

        /// A proof of these parts.
        package init(keyID: String, object: String, key: PrivateKey) {
            self.keyID = keyID
            self.object = object
            self.key = key
        }
    }

    private let authority: LabAuthorities.Authority
    private let app: AppleApp

    /// Proofs of `app`.
    package init(_ lab: LabAuthorities, app: AppleApp) {
        authority = lab.apple
        self.app = app
    }

    /// A new key and its attestation over `clientDataHash`.
    package func attestation(
        clientDataHash: [UInt8],
        environment: AppAttestEnvironment,
        at now: Moment,
        fault: AttestationFault?
    ) throws(LabError) -> Attestation {
        do {
            let key = try PrivateKey.generate(.p256)
            guard let point = key.publicKey.point else { throw LabError.option("key") }
            let keyID = SHA256.hash(point).bytes
            let data = authenticatorData(point: point, keyID: keyID, environment, fault)
            let nonce = SHA256.hash(data + (fault == .nonce ? clientDataHash.reversed() : clientDataHash))
            let leaf = try leaf(key.publicKey, keyID: keyID, nonce: nonce, at: now, fault)
            let statement = CBORValue.map([
                .init(.text("x5c"), .array([.bytes(leaf), .bytes(authority.issuer.der)])),
                .init(.text("receipt"), .bytes([])),
            ])
            var object = CBORValue.map([
                .init(.text("fmt"), .text("apple-appattest")),
                .init(.text("attStmt"), statement),
                .init(.text("authData"), .bytes(data)),
            ]).encoded
            if fault == .truncated { object.removeLast(200) }
            let shown = fault == .keyID ? SHA256.hash(keyID).bytes : keyID
            return Attestation(keyID: Base64.encode(shown), object: Base64.encode(object), key: key)
        } catch let error as CryptoError {
            throw .crypto(error)
        } catch {
            throw .option("\(error)")
        }
    }

    /// An assertion of `key` over `clientDataHash`, in base64.
    package func assertion(
        key: PrivateKey,
        clientDataHash: [UInt8],
        counter: UInt32,
        fault: AssertionFault?
    ) throws(LabError) -> String {
        let identifier = fault == .app ? SHA256.hash([]).bytes : app.identifierHash.bytes
        let data = identifier + [0x40] + Self.bigEndian(fault == .counter ? 0 : counter)
        do {
            var signature = try key.signature(of: SHA256.hash(data + clientDataHash).bytes, .ecdsa(.sha256))
            if fault == .signature { signature[signature.count - 1] ^= 1 }
            var object = CBORValue.map([
                .init(.text("signature"), .bytes(signature)), .init(.text("authenticatorData"), .bytes(data)),
            ]).encoded
            if fault == .truncated { object.removeLast() }
            return Base64.encode(object)
        } catch {
            throw .crypto(error)
        }
    }

    private func authenticatorData(
        point: [UInt8],
        keyID: [UInt8],
        _ environment: AppAttestEnvironment,
        _ fault: AttestationFault?
    ) -> [UInt8] {
        let cose = CBORValue.map([
            .init(.integer(1), .integer(2)), .init(.integer(3), .integer(-7)), .init(.integer(-1), .integer(1)),
            .init(.integer(-2), .bytes(Array(point[1..<33]))), .init(.integer(-3), .bytes(Array(point[33..<65]))),
        ])
        let identifier = fault == .app ? SHA256.hash([]).bytes : app.identifierHash.bytes
        let origin = fault == .environment ? Array("appattestunknown".utf8) : environment.identifier
        return identifier + [0x40] + Self.bigEndian(fault == .counter ? 1 : 0) + origin + [0, 32] + keyID + cose.encoded
    }

    private func leaf(
        _ key: PublicKey,
        keyID: [UInt8],
        nonce: Digest,
        at now: Moment,
        _ fault: AttestationFault?
    ) throws(CryptoError) -> [UInt8] {
        let start = now.seconds - (fault == .expired ? 10 * 86_400 : 3_600)
        var request = try CertificateRequest(
            commonName: Hex.encode(keyID),
            key: key,
            validity: start...(start + 3 * 86_400)
        )
        request.organization = "AAA Certification"
        let value = DERWriter.sequence(DERWriter.explicit(1, DERWriter.octets(nonce.bytes)))
        request.extensions = [(AttestationObject.nonceExtension, false, value)]
        let signer = fault == .chain ? try PrivateKey.generate(.p384) : authority.key
        return try request.signed(by: signer, issuer: authority.issuer.subject, .ecdsa(.sha256))
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
