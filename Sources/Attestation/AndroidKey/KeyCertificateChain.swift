// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings

/// A chain of certificates, leaf first, each signed by the next.
struct KeyCertificateChain {
    /// The certificates, leaf first.
    let certificates: [Certificate]
    /// The authority at the end: the last certificate has its key, or was signed by it where the root is left out.
    let anchor: TrustAnchor?
    /// The certificates whose dates count: not the leaf's, which the device sets, and not those of any root.
    let datedCertificates: [Certificate]

    /// Real chains have three to five.
    static let maximumCertificates = 10

    /// Reads every certificate and checks every signature between them; nil if any is not as it should be.
    ///
    /// Keys are loaded of issuers only: a leaf may hold an ML-DSA key that the library cannot load. Basic constraints
    /// and names are not asked for, because genuine batch certificates lack them; that is safe only together with
    /// `attestation`, which lets nothing but the leaf speak and nothing above it attest.
    init?(_ encoded: [[UInt8]], anchors: TrustAnchors) {
        guard (1...Self.maximumCertificates).contains(encoded.count) else { return nil }
        do {
            certificates = try encoded.map { try Certificate(der: $0) }
        } catch {
            return nil
        }
        for (subject, issuer) in zip(certificates, certificates.dropFirst()) {
            let isSigned =
                if let anchor = anchors.androidAnchor(ofKey: issuer.spki) {
                    subject.isSigned(by: anchor.key)
                } else {
                    subject.isSigned(byKeyOf: issuer)
                }
            guard isSigned else { return nil }
        }
        let last = certificates[certificates.count - 1]
        let included = anchors.androidAnchor(ofKey: last.spki)
        anchor = included ?? anchors.android.first { last.isSigned(by: $0.key) }
        let isRootIncluded = included != nil || (anchor == nil && last.issuer == last.subject)
        datedCertificates = (isRootIncluded ? certificates.dropFirst().dropLast() : certificates.dropFirst())
            .filter { anchors.androidAnchor(ofKey: $0.spki) == nil }
        guard datedCertificates.allSatisfy({ $0.validity != nil }) else { return nil }
    }

    /// The value of the attestation extension: in certificate 0 and in no other.
    ///
    /// Whoever holds an attested signing key can sign a certificate below it and claim anything there.
    var attestation: [UInt8]? {
        let identifier = KeyDescription.extensionIdentifier
        guard certificates.dropFirst().allSatisfy({ $0.value(of: identifier) == nil }) else { return nil }
        return certificates[0].value(of: identifier)
    }
}
