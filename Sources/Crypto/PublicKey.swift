// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL
import Encodings

extension OID {
    static let rsaEncryption = OID(1, 2, 840, 113_549, 1, 1, 1)
    static let ecPublicKey = OID(1, 2, 840, 10_045, 2, 1)
    static let ed25519 = OID(1, 3, 101, 112)
    static let prime256v1 = OID(1, 2, 840, 10_045, 3, 1, 7)
    static let secp384r1 = OID(1, 3, 132, 0, 34)
    static let secp521r1 = OID(1, 3, 132, 0, 35)
}

/// A public key that signatures are checked with; immutable, usable from any thread.
@safe
package final class PublicKey: Sendable {
    // Proof: `key` is set once, never handed out, and the library locks what it caches inside of it.
    nonisolated(unsafe) private let key: OpaquePointer
    /// What kind of key this is.
    package let kind: KeyKind
    /// The SubjectPublicKeyInfo, in DER.
    package let spki: [UInt8]

    /// Smaller keys are refused: RSA-1024 still signs the software attestations of old phones.
    private static let smallestRSABits = 1_024
    /// Larger keys are refused: the cost of a check grows with the square.
    private static let largestRSABits = 8_192

    private init(takingOwnership key: OpaquePointer?, _ kind: KeyKind, spki: [UInt8]) throws(CryptoError) {
        guard let key = unsafe key else { throw .malformedKey }
        unsafe self.key = key
        self.kind = kind
        self.spki = spki
    }

    deinit {
        unsafe EVP_PKEY_free(key)
    }

    /// The key of a DER SubjectPublicKeyInfo; curves, sizes and forms that nothing uses are refused.
    package convenience init(spki: [UInt8]) throws(CryptoError) {
        switch try KeyParts(spki: spki) {
        case .curve(let kind, let point): try self.init(point: point, on: kind)
        case .edwards(let bytes): try self.init(ed25519: bytes)
        case .rsa(let modulus, let exponent): try self.init(rsaModulus: modulus, exponent: exponent)
        }
    }

    /// The key of an uncompressed point (`04 || x || y`) on a NIST curve.
    package convenience init(point: [UInt8], on kind: KeyKind) throws(CryptoError) {
        guard let width = kind.coordinateBytes, let template = kind.template else { throw .unsupportedKey }
        guard point.count == 1 + 2 * width, point[0] == 4 else { throw .malformedKey }
        try unsafe self.init(
            takingOwnership: template.key(at: point),
            kind,
            spki: KeyParts.curve(kind, point).spki
        )
    }

    /// The RSA key of a modulus and an exponent, big-endian.
    package convenience init(rsaModulus modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) {
        let modulus = Array(modulus.drop { $0 == 0 })
        let exponent = Array(exponent.drop { $0 == 0 })
        guard let first = modulus.first, let last = exponent.last else { throw .malformedKey }
        let bits = modulus.count * 8 - first.leadingZeroBitCount
        guard (Self.smallestRSABits...Self.largestRSABits).contains(bits) else { throw .unsupportedKey }
        // A check with a huge exponent would be a way to keep us busy.
        guard exponent.count <= 4, last & 1 == 1, exponent != [1] else { throw .unsupportedKey }
        let parameters: [(StaticString, ParameterValue)] = [("n", .magnitude(modulus)), ("e", .magnitude(exponent))]
        try unsafe self.init(
            takingOwnership: makeLibraryKey("RSA", parameters, selection: publicKeySelection),
            .rsa(bits: bits),
            spki: KeyParts.rsa(modulus: modulus, exponent: exponent).spki
        )
    }

    /// The Ed25519 key of its 32 bytes.
    package convenience init(ed25519 bytes: [UInt8]) throws(CryptoError) {
        guard bytes.count == 32 else { throw .malformedKey }
        try unsafe self.init(
            takingOwnership: makeLibraryKey("ED25519", [("pub", .octets(bytes))], selection: publicKeySelection),
            .ed25519,
            spki: KeyParts.edwards(bytes).spki
        )
    }

    /// The uncompressed point, for keys on a NIST curve.
    package var point: [UInt8]? {
        guard let width = kind.coordinateBytes else { return nil }
        return Array(spki.suffix(1 + 2 * width))
    }

    /// Whether `signature` (DER for ECDSA) was made over `message` with this key's private half.
    package func verifies(
        _ signature: Span<UInt8>,
        of message: Span<UInt8>,
        _ algorithm: SignatureAlgorithm
    ) -> Bool {
        guard kind.allows(algorithm), let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        let isRight =
            unsafe prepare(context, algorithm)
            && signature.withUnsafeBufferPointer { signature in
                unsafe message.withUnsafeBufferPointer { message in
                    unsafe EVP_DigestVerify(
                        context,
                        signature.baseAddress,
                        signature.count,
                        message.baseAddress,
                        message.count
                    ) == 1
                }
            }
        if !isRight { clearLibraryErrors() }
        return isRight
    }

    /// Whether a fixed-width `r || s`, as JOSE writes ECDSA signatures, was made over `message`.
    package func verifies(
        rawSignature: Span<UInt8>,
        of message: Span<UInt8>,
        _ algorithm: SignatureAlgorithm
    ) -> Bool {
        guard let width = kind.coordinateBytes else { return verifies(rawSignature, of: message, algorithm) }
        guard rawSignature.count == 2 * width, let der = ECDSASignature.der(raw: rawSignature) else { return false }
        return verifies(der.span, of: message, algorithm)
    }

    /// Whether a fixed-width `r || s` was made over `message`.
    package func verifies(rawSignature: [UInt8], of message: [UInt8], _ algorithm: SignatureAlgorithm) -> Bool {
        verifies(rawSignature: rawSignature.span, of: message.span, algorithm)
    }

    private func prepare(_ context: OpaquePointer, _ algorithm: SignatureAlgorithm) -> Bool {
        var keyContext: OpaquePointer?
        switch algorithm {
        case .ed25519:
            return unsafe EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
        case .ecdsa(let hash), .rsaPKCS1(let hash):
            return unsafe EVP_DigestVerifyInit(context, nil, hash.fetched.pointer, nil, key) == 1
        case .rsaPSS(let hash):
            return unsafe EVP_DigestVerifyInit(context, &keyContext, hash.fetched.pointer, nil, key) == 1
                && EVP_PKEY_CTX_set_rsa_padding(keyContext, RSA_PKCS1_PSS_PADDING) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(keyContext, RSA_PSS_SALTLEN_DIGEST) == 1
        }
    }
}

extension PublicKey: Equatable {
    package static func == (left: PublicKey, right: PublicKey) -> Bool {
        left.spki == right.spki
    }
}
