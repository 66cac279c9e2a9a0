// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Encodings

/// An X.509 certificate as read: what it says, and whether a given key signed it.
///
/// Judging it is the caller's business.
///
/// Read with our own cursor rather than the library's templates, because genuine phones carry keys the library cannot
/// load, dates that make no sense and encodings it repairs in silence.
package struct Certificate: Sendable {
    /// One extension of the certificate.
    package struct Extension: Sendable {
        /// Which extension it is.
        package let identifier: OID
        /// Whether a reader that does not know it must refuse the certificate.
        package let isCritical: Bool
        /// The contents of the OCTET STRING around the value.
        package let value: [UInt8]
    }

    /// The dates of a certificate.
    package struct Validity: Equatable, Sendable {
        /// The first second since 1970.
        package let notBefore: Int64
        /// The last second since 1970; before the first in some leaves that phones make.
        package let notAfter: Int64
    }

    /// More than any real certificate holds: 16 KiB.
    package static let maximumBytes = 16_384

    /// The whole certificate.
    package let der: [UInt8]
    /// The serial number's magnitude, big-endian, without leading zeros.
    package let serial: [UInt8]
    /// The issuer's name, in DER.
    package let issuer: [UInt8]
    /// The subject's name, in DER.
    package let subject: [UInt8]
    /// The SubjectPublicKeyInfo, in DER; it may hold a key that `PublicKey` does not know.
    package let spki: [UInt8]
    /// When it is valid; nil if the dates are not dates, which only matters where dates are asked for.
    package let validity: Validity?
    /// The extensions in order; none appears twice.
    package let extensions: [Extension]

    private let signedPart: Range<Int>
    private let signature: Range<Int>
    private let algorithm: SignatureAlgorithm?

    /// The certificate that `der` is, with nothing after it.
    package init(der: [UInt8]) throws(CryptoError) {
        guard der.count <= Self.maximumBytes else { throw .malformedCertificate }
        do {
            try self.init(reading: der)
        } catch {
            throw .malformedCertificate
        }
    }

    private init(reading der: [UInt8]) throws(DERError) {
        var outer = try DERCursor.only(.sequence, in: der).cursor
        let signedPart = try outer.read(.sequence)
        let outerAlgorithm = try outer.read(.sequence)
        signature = try outer.read(.bitString).wholeBits()
        try outer.finish()

        var fields = signedPart.cursor
        let version = try Self.version(try fields.readIf(.explicit(0)))
        serial = Array(try fields.read(.integer).serialMagnitude())
        let innerAlgorithm = try fields.read(.sequence)
        // RFC 5280 4.1.1.2: both places name the same algorithm, else the signature is not over what it claims.
        guard innerAlgorithm.encoded == outerAlgorithm.encoded else { throw .illegalValue }
        issuer = try fields.read(.sequence).encoded
        validity = try Self.validity(try fields.read(.sequence))
        subject = try fields.read(.sequence).encoded
        spki = try fields.read(.sequence).encoded
        _ = try fields.readIf(.implicit(1))
        _ = try fields.readIf(.implicit(2))
        let extensions = try fields.readIf(.explicit(3))
        try fields.finish()
        guard version == 2 || extensions == nil else { throw .unexpectedElement }
        self.extensions = try extensions.map(Self.extensions) ?? []
        algorithm = try Self.algorithm(outerAlgorithm)
        self.signedPart = signedPart.range
        self.der = der
    }

    /// The extension that `identifier` names.
    package func value(of identifier: OID) -> [UInt8]? {
        extensions.first { $0.identifier == identifier }?.value
    }

    /// The serial number as status lists write it: lower-case hexadecimal without leading zeros.
    package var serialText: String {
        let text = Hex.encode(serial)
        return text.first == "0" && text.utf8.count > 1 ? String(text.dropFirst()) : text
    }

    /// Whether basic constraints say that this is an authority.
    package var isAuthority: Bool {
        guard let constraints = value(of: .basicConstraints) else { return false }
        do {
            var fields = try DERCursor.only(.sequence, in: constraints).cursor
            let isAuthority = try fields.readIf(.boolean)?.booleanTolerant() ?? false
            // How many authorities may follow: the length of the chains that we take is bounded anyway.
            _ = try fields.readIf(.integer)?.integer()
            try fields.finish()
            return isAuthority
        } catch {
            return false
        }
    }

    /// Whether this is an authority whose key usage, where it has one, includes signing certificates.
    package var maySignCertificates: Bool {
        guard isAuthority else { return false }
        guard let usage = value(of: .keyUsage) else { return true }
        do {
            let bits = try DERCursor.only(.bitString, in: usage).bytes
            return bits.count >= 2 && bits[1] & 0x04 != 0
        } catch {
            return false
        }
    }

    /// The certificate's own key, if it is of a kind that we check signatures with.
    package func publicKey() throws(CryptoError) -> PublicKey {
        try PublicKey(spki: spki)
    }

    /// Whether `key` signed this certificate; SHA-1 and unknown algorithms count as not.
    package func isSigned(by key: PublicKey) -> Bool {
        guard let algorithm else { return false }
        return key.verifies(der.span.extracting(signature), of: der.span.extracting(signedPart), algorithm)
    }

    /// Whether the key of `issuer` signed this certificate; a key that cannot be loaded did not.
    package func isSigned(byKeyOf issuer: Certificate) -> Bool {
        do {
            return isSigned(by: try issuer.publicKey())
        } catch {
            return false
        }
    }

    /// Whether `seconds` since 1970 lies in the validity.
    package func isValid(at seconds: Int64) -> Bool {
        guard let validity else { return false }
        return validity.notBefore <= seconds && seconds <= validity.notAfter
    }
}

extension OID {
    /// Basic constraints of RFC 5280.
    package static let basicConstraints = OID(2, 5, 29, 19)
    /// Key usage of RFC 5280.
    package static let keyUsage = OID(2, 5, 29, 15)
}

extension DERElement {
    /// A serial number's bytes; a few real certificates carry one that reads as negative.
    fileprivate func serialMagnitude() throws(DERError) -> ArraySlice<UInt8> {
        let bytes = try integerBytes()
        return bytes.first == 0 && bytes.count > 1 ? bytes.dropFirst() : bytes
    }
}

extension Certificate {
    private static func version(_ element: DERElement?) throws(DERError) -> Int {
        guard let element else { return 0 }
        var cursor = element.cursor
        let version = try cursor.read(.integer).integer()
        try cursor.finish()
        guard (0...2).contains(version) else { throw .illegalValue }
        return version
    }

    /// A device may write what it likes into its own leaf, where nobody looks at dates.
    private static func validity(_ element: DERElement) throws(DERError) -> Validity? {
        var cursor = element.cursor
        let start = try cursor.next()
        let end = try cursor.next()
        try cursor.finish()
        let times: [DERTag] = [.utcTime, .generalizedTime]
        guard times.contains(start.tag), times.contains(end.tag) else { throw .unexpectedElement }
        do {
            return Validity(notBefore: try start.seconds(), notAfter: try end.seconds())
        } catch {
            return nil
        }
    }

    /// 64 extensions are more than any real certificate has.
    private static func extensions(_ wrapper: DERElement) throws(DERError) -> [Extension] {
        var wrapped = wrapper.cursor
        var list = try wrapped.read(.sequence).cursor
        try wrapped.finish()
        var extensions: [Extension] = []
        while !list.isAtEnd {
            var fields = try list.read(.sequence).cursor
            let identifier = try fields.read(.objectIdentifier).identifier()
            let isCritical = try fields.readIf(.boolean)?.booleanTolerant() ?? false
            let value = try fields.read(.octetString).bytes
            try fields.finish()
            guard extensions.count < 64, !extensions.contains(where: { $0.identifier == identifier }) else {
                throw .illegalValue
            }
            extensions.append(Extension(identifier: identifier, isCritical: isCritical, value: value))
        }
        return extensions
    }

    /// Parameters must be absent or NULL; a genuine StrongBox writes NULL with ECDSA.
    private static func algorithm(_ element: DERElement) throws(DERError) -> SignatureAlgorithm? {
        var fields = element.cursor
        let name = try fields.read(.objectIdentifier).identifier()
        let parameters = fields.isAtEnd ? nil : try fields.next()
        try fields.finish()
        guard parameters == nil || parameters?.encoded == DERWriter.null else { return nil }
        return signatureAlgorithms.first { $0.identifier == name }?.algorithm
    }

    static let signatureAlgorithms: [(identifier: OID, algorithm: SignatureAlgorithm)] = [
        (OID(1, 2, 840, 10_045, 4, 3, 2), .ecdsa(.sha256)),
        (OID(1, 2, 840, 10_045, 4, 3, 3), .ecdsa(.sha384)),
        (OID(1, 2, 840, 10_045, 4, 3, 4), .ecdsa(.sha512)),
        (OID(1, 2, 840, 113_549, 1, 1, 11), .rsaPKCS1(.sha256)),
        (OID(1, 2, 840, 113_549, 1, 1, 12), .rsaPKCS1(.sha384)),
        (OID(1, 2, 840, 113_549, 1, 1, 13), .rsaPKCS1(.sha512)),
        (.ed25519, .ed25519),
    ]
}
