// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Crypto
import Encodings

/// Why a lab could not be read or a proof not be made.
package enum LabError: Error, Equatable {
    /// A file of the lab is missing or not what it should be.
    case file(String)
    /// The library refused.
    case crypto(CryptoError)
    /// An option that no proof can be made with.
    case option(String)
}

/// Authorities that play Apple's and Google's parts for a team's tests: roots, issuers and token keys of their own.
///
/// The roots' private keys are thrown away once they have signed the issuers.
package struct LabAuthorities: Sendable {
    /// A root, the issuer that it signed, and the issuer's key.
    package struct Authority: Sendable {
        let root: Certificate
        let issuer: Certificate
        let key: PrivateKey
    }

    /// In Apple's place.
    package let apple: Authority
    /// In Google's place, for key attestation.
    package let android: Authority
    /// Wraps content keys of Play Integrity tokens.
    let playDecryption: SecretBytes
    /// Signs Play Integrity verdicts.
    let playSigning: PrivateKey

    /// Ten years.
    private static let lifetime: Int64 = 3_650 * 86_400

    /// Fresh authorities.
    package static func make(at now: Moment) throws(LabError) -> LabAuthorities {
        do {
            return LabAuthorities(
                apple: try authority(named: "Lab App Attestation", at: now),
                android: try authority(named: "Lab Key Attestation", at: now),
                playDecryption: try SecretBytes(random: 32),
                playSigning: try PrivateKey.generate(.p256)
            )
        } catch {
            throw .crypto(error)
        }
    }

    private init(apple: Authority, android: Authority, playDecryption: SecretBytes, playSigning: PrivateKey) {
        self.apple = apple
        self.android = android
        self.playDecryption = playDecryption
        self.playSigning = playSigning
    }

    private static func authority(named name: String, at now: Moment) throws(CryptoError) -> Authority {
        let rootKey = try PrivateKey.generate(.p384)
        let issuerKey = try PrivateKey.generate(.p384)
        let validity = (now.seconds - 86_400)...(now.seconds + lifetime)
        var root = try CertificateRequest(
            commonName: "\(name) Root (not for production)",
            key: rootKey.publicKey,
            validity: validity
        )
        root.organization = "Sallyport Lab"
        root.isAuthority = true
        var issuer = try CertificateRequest(commonName: "\(name) CA 1", key: issuerKey.publicKey, validity: validity)
        issuer.organization = "Sallyport Lab"
        issuer.isAuthority = true
        return Authority(
            root: try Certificate(der: try root.signed(by: rootKey)),
            issuer: try Certificate(der: try issuer.signed(by: rootKey, issuer: root.name)),
            key: issuerKey
        )
    }

    /// The lab's roots, which an app may take for a while.
    package func anchors() throws(LabError) -> TrustAnchors {
        do {
            return TrustAnchors(
                apple: [try TrustAnchor(certificate: apple.root, provenance: .lab)],
                android: [try TrustAnchor(certificate: android.root, provenance: .lab)]
            )
        } catch {
            throw .crypto(error)
        }
    }

    /// The lab's two token keys as Play Console would show them.
    package var playKeyTexts: (decryption: String, verification: String) {
        (Base64.encode(playDecryption.copy()), Base64.encode(playSigning.publicKey.spki))
    }
}

extension LabAuthorities {
    /// One file of a lab's directory.
    package struct File: Sendable {
        /// Its name.
        package let name: String
        /// What it holds.
        package let text: String
        /// Whether only its owner may read it.
        package let isSecret: Bool
    }

    /// The files that keep this lab.
    package func files() throws(LabError) -> [File] {
        do {
            let texts = playKeyTexts
            return [
                File(name: "apple-root.pem", text: Self.pem(apple.root), isSecret: false),
                File(name: "apple-issuer.pem", text: Self.pem(apple.issuer), isSecret: false),
                File(name: "apple-issuer.key", text: try apple.key.pem(), isSecret: true),
                File(name: "android-root.pem", text: Self.pem(android.root), isSecret: false),
                File(name: "android-issuer.pem", text: Self.pem(android.issuer), isSecret: false),
                File(name: "android-issuer.key", text: try android.key.pem(), isSecret: true),
                File(name: "play-decryption.key", text: texts.decryption + "\n", isSecret: true),
                File(name: "play-verification.key", text: texts.verification + "\n", isSecret: false),
                File(name: "play-signing.key", text: try playSigning.pem(), isSecret: true),
            ]
        } catch {
            throw .crypto(error)
        }
    }

    /// The lab that such files keep.
    package init(files: (String) -> String?) throws(LabError) {
        apple = try Self.authority("apple", files)
        android = try Self.authority("android", files)
        guard let decryption = files("play-decryption.key") else { throw .file("play-decryption.key") }
        do {
            var bytes = try Base64.decode(String(decryption.prefix { $0 != "\n" }))
            playDecryption = SecretBytes(wiping: &bytes)
        } catch {
            throw .file("play-decryption.key")
        }
        playSigning = try Self.key("play-signing.key", files)
    }

    private static func authority(_ kind: String, _ files: (String) -> String?) throws(LabError) -> Authority {
        Authority(
            root: try certificate("\(kind)-root.pem", files),
            issuer: try certificate("\(kind)-issuer.pem", files),
            key: try key("\(kind)-issuer.key", files)
        )
    }

    private static func certificate(_ name: String, _ files: (String) -> String?) throws(LabError) -> Certificate {
        guard let text = files(name) else { throw .file(name) }
        do {
            return try TrustAnchor.anchors(pem: text)[0].certificate
        } catch {
            throw .file(name)
        }
    }

    private static func key(_ name: String, _ files: (String) -> String?) throws(LabError) -> PrivateKey {
        guard let text = files(name) else { throw .file(name) }
        do {
            return try PrivateKey(pem: text)
        } catch {
            throw .file(name)
        }
    }

    /// The PEM of a certificate.
    static func pem(_ certificate: Certificate) -> String {
        PEMBlock(label: "CERTIFICATE", bytes: certificate.der).text
    }
}
