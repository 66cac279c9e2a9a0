// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Crypto
import Encodings

/// A certificate authority that proofs may end at.
package struct TrustAnchor: Sendable {
    /// The authority's certificate.
    package let certificate: Certificate
    /// Its key, read once.
    package let key: PublicKey
    /// Whose authority it is.
    package let provenance: Provenance

    /// The anchor of a certificate.
    package init(certificate: Certificate, provenance: Provenance = .vendor) throws(CryptoError) {
        self.certificate = certificate
        self.provenance = provenance
        key = try certificate.publicKey()
    }

    /// The anchor of each `CERTIFICATE` block of a PEM text.
    package static func anchors(pem: String, provenance: Provenance = .vendor) throws(CryptoError) -> [TrustAnchor] {
        let blocks: [PEMBlock]
        do {
            blocks = try PEM.blocks(in: pem)
        } catch {
            throw .malformedCertificate
        }
        var anchors: [TrustAnchor] = []
        for block in blocks where block.label == "CERTIFICATE" {
            anchors.append(try TrustAnchor(certificate: try Certificate(der: block.bytes), provenance: provenance))
        }
        guard !anchors.isEmpty else { throw .malformedCertificate }
        return anchors
    }
}

/// The authorities that count in one judgement; an immutable value, swapped whole when the bundle changes.
package struct TrustAnchors: Sendable {
    /// Authorities of App Attest keys.
    package let apple: [TrustAnchor]
    /// Authorities of Android key attestation; matched by key, so re-issued copies count as one.
    package let android: [TrustAnchor]

    /// Anchors for the two kinds of chain.
    package init(apple: [TrustAnchor], android: [TrustAnchor]) {
        self.apple = apple
        self.android = android
    }

    /// These anchors and an operator's lab authorities beside them.
    package func adding(lab: TrustAnchors) -> TrustAnchors {
        TrustAnchors(apple: apple + lab.apple, android: android + lab.android)
    }

    /// The Android anchor whose key `spki` is.
    func androidAnchor(ofKey spki: [UInt8]) -> TrustAnchor? {
        android.first { $0.key.spki == spki }
    }
}
