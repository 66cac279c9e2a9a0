// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Encodings

/// A certificate that we make ourselves: for development listeners, tests and lab authorities.
package struct CertificateRequest: Sendable {
    /// The subject's common name.
    package var commonName: String
    /// The subject's organization, where it has one.
    package var organization: String?
    /// The serial number, big-endian; 16 random bytes unless set.
    package var serial: [UInt8]
    /// First and last second of validity since 1970.
    package var validity: ClosedRange<Int64>
    /// The key that is certified.
    package var spki: [UInt8]
    /// Whether it may issue others.
    package var isAuthority = false
    /// Further extensions: identifier, criticality and value.
    package var extensions: [(identifier: OID, isCritical: Bool, value: [UInt8])] = []

    /// A request for `key` under `commonName`.
    package init(commonName: String, key: PublicKey, validity: ClosedRange<Int64>) throws(CryptoError) {
        self.commonName = commonName
        self.validity = validity
        spki = key.spki
        var serial = try RandomBytes.make(16)
        serial[0] = serial[0] & 0x7F | 0x40
        self.serial = serial
    }

    /// The certificate signed with `key`, whose own name is `issuer`; nil makes it self-signed.
    package func signed(by key: PrivateKey, issuer: [UInt8]? = nil) throws(CryptoError) -> [UInt8] {
        let algorithm: SignatureAlgorithm =
            switch key.kind {
            case .p256: .ecdsa(.sha256)
            case .p384: .ecdsa(.sha384)
            case .p521: .ecdsa(.sha512)
            case .rsa: .rsaPKCS1(.sha256)
            case .ed25519: .ed25519
            }
        return try signed(by: key, issuer: issuer, algorithm)
    }

    /// The certificate signed with `key` in a chosen way.
    package func signed(
        by key: PrivateKey,
        issuer: [UInt8]?,
        _ algorithm: SignatureAlgorithm
    ) throws(CryptoError) -> [UInt8] {
        guard let identifier = Certificate.signatureAlgorithms.first(where: { $0.algorithm == algorithm })?.identifier
        else { throw .algorithmMismatch }
        var algorithmFields = DERWriter.identifier(identifier)
        if case .rsaPKCS1 = algorithm { algorithmFields += DERWriter.null }
        let algorithmElement = DERWriter.element(.sequence, algorithmFields)
        let content = DERWriter.sequence(
            DERWriter.explicit(0, DERWriter.integer(2)),
            DERWriter.integer(magnitude: serial),
            algorithmElement,
            issuer ?? name,
            DERWriter.sequence(DERWriter.time(validity.lowerBound), DERWriter.time(validity.upperBound)),
            name,
            spki,
            DERWriter.explicit(3, DERWriter.element(.sequence, extensionElements))
        )
        let signature = try key.signature(of: content.span, algorithm)
        return DERWriter.sequence(content, algorithmElement, DERWriter.bits(signature))
    }

    /// The subject's name, in DER.
    package var name: [UInt8] {
        var parts: [[UInt8]] = []
        if let organization {
            parts.append(Self.attribute(OID(2, 5, 4, 10), organization))
        }
        parts.append(Self.attribute(OID(2, 5, 4, 3), commonName))
        return DERWriter.element(.sequence, parts.flatMap { $0 })
    }

    private static func attribute(_ identifier: OID, _ text: String) -> [UInt8] {
        let value = DERWriter.element(.utf8String, Array(text.utf8))
        return DERWriter.element(.set, DERWriter.sequence(DERWriter.identifier(identifier), value))
    }

    private var extensionElements: [UInt8] {
        var list: [(identifier: OID, isCritical: Bool, value: [UInt8])] = []
        let constraints = isAuthority ? DERWriter.sequence(DERWriter.boolean(true)) : DERWriter.sequence()
        list.append((.basicConstraints, true, constraints))
        // Key usage: certificate and list signing for authorities, digital signature for the rest.
        let usage: [UInt8] = isAuthority ? [3, 2, 1, 6] : [3, 2, 7, 128]
        list.append((.keyUsage, true, usage))
        list += extensions
        return list.flatMap { item in
            DERWriter.element(
                .sequence,
                DERWriter.identifier(item.identifier)
                    + (item.isCritical ? DERWriter.boolean(true) : [])
                    + DERWriter.octets(item.value)
            )
        }
    }
}
