// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings

/// Makes Android key attestations under a lab's authority, of sound devices and of others.
package struct LabAndroidProofs: Sendable {
    /// The state of the device that is played, or what is wrong with the proof.
    package enum State: String, Sendable, CaseIterable {
        case hardware, strongbox = "strongbox", software, unlocked, selfSigned = "self-signed", unverified
        case noRootOfTrust = "no-root-of-trust", expired, otherRoot = "other-root", rootOmitted = "root-omitted"
        case noApplication = "no-application", nonce, brokenLink = "broken-link", forgedLeaf = "forged-leaf"
    }

    private let lab: LabAuthorities
    private let package: String
    private let signer: Digest

    /// Proofs of `package` signed by `signer`.
    package init(_ lab: LabAuthorities, app: AndroidApp) throws(LabError) {
        guard let signer = app.signers.first else { throw .option("signer") }
        self.lab = lab
        package = app.package
        self.signer = signer
    }

    /// A fresh key's chain over `challenge`, leaf first, each certificate in base64.
    package func chain(challenge: [UInt8], state: State, at now: Moment) throws(LabError) -> [String] {
        do {
            return try encodedChain(challenge: challenge, state: state, at: now).map { Base64.encode($0) }
        } catch {
            throw .crypto(error)
        }
    }

    private func encodedChain(challenge: [UInt8], state: State, at now: Moment) throws(CryptoError) -> [[UInt8]] {
        let source = state == .otherRoot ? try otherAuthority(at: now) : lab.android
        let batchKey = try PrivateKey.generate(.p256)
        let end = now.seconds + (state == .expired ? -86_400 : 14 * 86_400)
        var batch = try CertificateRequest(
            commonName: "TEE batch",
            key: batchKey.publicKey,
            validity: (end - 28 * 86_400)...end
        )
        batch.organization = "TEE"
        batch.isAuthority = true
        let signer = state == .brokenLink ? try PrivateKey.generate(.p384) : source.key
        let batchDER = try batch.signed(by: signer, issuer: source.issuer.subject)
        let key = try PrivateKey.generate(.p256)
        let value = keyDescription(challenge: state == .nonce ? challenge.reversed() : challenge, state)
        let leaf = try Self.leaf(key.publicKey, value, signedBy: batchKey, issuer: batch.name)
        var chain = [leaf, batchDER, source.issuer.der, source.root.der]
        if state == .rootOmitted { chain.removeLast() }
        if state == .forgedLeaf {
            // The known attack: an attested signing key signs a certificate that claims what it likes.
            let forged = keyDescription(challenge: challenge, .strongbox)
            let name = try Certificate(der: leaf).subject
            let forgedKey = try PrivateKey.generate(.p256)
            chain.insert(try Self.leaf(forgedKey.publicKey, forged, signedBy: key, issuer: name), at: 0)
        }
        return chain
    }

    private func otherAuthority(at now: Moment) throws(CryptoError) -> LabAuthorities.Authority {
        do {
            return try LabAuthorities.make(at: now).android
        } catch {
            throw .operationFailed
        }
    }

    /// Leaves carry dates that mean nothing, as the ones that phones make.
    private static func leaf(
        _ key: PublicKey,
        _ description: [UInt8],
        signedBy signer: PrivateKey,
        issuer: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        var request = try CertificateRequest(
            commonName: "Android Keystore Key",
            key: key,
            validity: 0...2_461_449_600
        )
        request.serial = [1]
        request.extensions = [(KeyDescription.extensionIdentifier, false, description)]
        return try request.signed(by: signer, issuer: issuer)
    }

    private func keyDescription(challenge: [UInt8], _ state: State) -> [UInt8] {
        let level: UInt8 =
            switch state {
            case .software: 0
            case .strongbox: 2
            default: 1
            }
        let packages = DERWriter.sequence(DERWriter.octets(Array(package.utf8)), DERWriter.integer(1))
        let application = DERWriter.sequence(
            DERWriter.set([packages]),
            DERWriter.set([DERWriter.octets(signer.bytes)])
        )
        let tag = DERWriter.explicit(KeyDescription.applicationTag, DERWriter.octets(application))
        let boot: UInt8 =
            switch state {
            case .selfSigned: 1
            case .unverified, .unlocked: 2
            default: 0
            }
        let rootOfTrust = DERWriter.sequence(
            DERWriter.octets(SHA256.hash([1]).bytes),
            DERWriter.boolean(state != .unlocked),
            DERWriter.enumerated(boot),
            DERWriter.octets(SHA256.hash([2]).bytes)
        )
        let hardware = state == .noRootOfTrust ? [] : DERWriter.explicit(KeyDescription.rootOfTrustTag, rootOfTrust)
        return DERWriter.sequence(
            DERWriter.integer(300),
            DERWriter.enumerated(level),
            DERWriter.integer(300),
            DERWriter.enumerated(level),
            DERWriter.octets(challenge),
            DERWriter.octets([]),
            DERWriter.element(.sequence, state == .noApplication ? [] : tag),
            DERWriter.element(.sequence, hardware)
        )
    }
}
