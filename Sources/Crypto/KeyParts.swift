// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// What a SubjectPublicKeyInfo says, before the library is asked whether the numbers make a key.
enum KeyParts {
    case curve(KeyKind, [UInt8])
    case edwards([UInt8])
    case rsa(modulus: [UInt8], exponent: [UInt8])

    init(spki: [UInt8]) throws(CryptoError) {
        do {
            self = try Self.read(spki)
        } catch let error as CryptoError {
            throw error
        } catch {
            throw .malformedKey
        }
    }

    private static func read(_ spki: [UInt8]) throws -> KeyParts {
        var outer = try DERCursor.only(.sequence, in: spki).cursor
        var algorithm = try outer.read(.sequence).cursor
        let bits = try outer.read(.bitString).wholeBits()
        try outer.finish()
        let name = try algorithm.read(.objectIdentifier)
        let parameters = algorithm.isAtEnd ? nil : try algorithm.next()
        try algorithm.finish()
        if name.identifies(.ecPublicKey) {
            guard let parameters, let kind = curve(parameters) else { throw CryptoError.unsupportedKey }
            return .curve(kind, Array(spki[bits]))
        }
        if name.identifies(.ed25519) {
            guard parameters == nil else { throw CryptoError.malformedKey }
            return .edwards(Array(spki[bits]))
        }
        guard name.identifies(.rsaEncryption) else { throw CryptoError.unsupportedKey }
        guard parameters == nil || parameters?.encoded == DERWriter.null else { throw CryptoError.malformedKey }
        var numbers = try DERCursor.only(.sequence, in: Array(spki[bits])).cursor
        let modulus = try numbers.read(.integer).magnitude()
        let exponent = try numbers.read(.integer).magnitude()
        try numbers.finish()
        return .rsa(modulus: Array(modulus), exponent: Array(exponent))
    }

    private static func curve(_ parameters: DERElement) -> KeyKind? {
        if parameters.identifies(.prime256v1) { return .p256 }
        if parameters.identifies(.secp384r1) { return .p384 }
        if parameters.identifies(.secp521r1) { return .p521 }
        return nil
    }

    /// The one DER form of these parts.
    var spki: [UInt8] {
        switch self {
        case .curve(let kind, let point):
            let curve: OID =
                switch kind {
                case .p384: .secp384r1
                case .p521: .secp521r1
                case .p256, .ed25519, .rsa: .prime256v1
                }
            return DERWriter.sequence(
                DERWriter.sequence(DERWriter.identifier(.ecPublicKey), DERWriter.identifier(curve)),
                DERWriter.bits(point)
            )
        case .edwards(let bytes):
            return DERWriter.sequence(DERWriter.sequence(DERWriter.identifier(.ed25519)), DERWriter.bits(bytes))
        case .rsa(let modulus, let exponent):
            let numbers = DERWriter.sequence(
                DERWriter.integer(magnitude: modulus),
                DERWriter.integer(magnitude: exponent)
            )
            return DERWriter.sequence(
                DERWriter.sequence(DERWriter.identifier(.rsaEncryption), DERWriter.null),
                DERWriter.bits(numbers)
            )
        }
    }
}
