// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL
import Encodings

/// A private key that we sign with; immutable, usable from any thread, never printed.
@safe
package final class PrivateKey: Sendable {
    // Proof: as for PublicKey.
    nonisolated(unsafe) private let key: OpaquePointer
    /// The public half.
    package let publicKey: PublicKey

    private init(takingOwnership key: OpaquePointer) throws(CryptoError) {
        unsafe self.key = key
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = unsafe i2d_PUBKEY(key, &encoded)
        guard length > 0, let start = unsafe encoded else {
            unsafe EVP_PKEY_free(key)
            throw .unsupportedKey
        }
        let spki = unsafe Array(UnsafeBufferPointer(start: start, count: Int(length)))
        unsafe CRYPTO_free(start, nil, 0)
        do {
            publicKey = try PublicKey(spki: spki)
        } catch {
            unsafe EVP_PKEY_free(key)
            throw error
        }
    }

    deinit {
        unsafe EVP_PKEY_free(key)
    }

    /// What kind of key this is.
    package var kind: KeyKind {
        publicKey.kind
    }

    /// A fresh key of `kind`.
    package static func generate(_ kind: KeyKind) throws(CryptoError) -> PrivateKey {
        let name: String
        switch kind {
        case .p256, .p384, .p521: name = "EC"
        case .ed25519: name = "ED25519"
        case .rsa: name = "RSA"
        }
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, name, nil) else { throw .operationFailed }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_keygen_init(context) == 1, unsafe configure(context, kind),
            unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key
        else {
            clearLibraryErrors()
            throw .operationFailed
        }
        return try unsafe PrivateKey(takingOwnership: key)
    }

    /// The key of PKCS #8, SEC 1 or PKCS #1 bytes.
    package convenience init(der: [UInt8]) throws(CryptoError) {
        let key: OpaquePointer? = unsafe der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_AutoPrivateKey(nil, &position, bytes.count)
        }
        guard let key = unsafe key else {
            clearLibraryErrors()
            throw .malformedKey
        }
        try unsafe self.init(takingOwnership: key)
    }

    /// The key of the first private key block of a PEM text; encrypted blocks are refused.
    package convenience init(pem: String) throws(CryptoError) {
        let blocks: [PEMBlock]
        do {
            blocks = try PEM.blocks(in: pem)
        } catch {
            throw .malformedKey
        }
        let labels = ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"]
        guard let block = blocks.first(where: { labels.contains($0.label) }) else { throw .malformedKey }
        try self.init(der: block.bytes)
    }

    /// As `init(pem:)` of a text, and no copy of ours is made: the library reads where the bytes are.
    package convenience init(pem: SecretBytes) throws(CryptoError) {
        let key: OpaquePointer? = unsafe pem.withBytes { bytes in
            unsafe bytes.withUnsafeBufferPointer { raw in
                guard let count = CInt(exactly: raw.count), let bio = unsafe BIO_new_mem_buf(raw.baseAddress, count)
                else { return nil }
                defer { unsafe BIO_free(bio) }
                // An empty passphrase: without one the library would ask on the terminal.
                var passphrase: CChar = 0
                return unsafe PEM_read_bio_PrivateKey(bio, nil, nil, &passphrase)
            }
        }
        guard let key = unsafe key else {
            clearLibraryErrors()
            throw .malformedKey
        }
        try unsafe self.init(takingOwnership: key)
    }

    /// The PKCS #8 form, in DER.
    package func pkcs8() throws(CryptoError) -> [UInt8] {
        guard let envelope = unsafe EVP_PKEY2PKCS8(key) else { throw .operationFailed }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(envelope) }
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = unsafe i2d_PKCS8_PRIV_KEY_INFO(envelope, &encoded)
        guard length > 0, let start = unsafe encoded else { throw .operationFailed }
        defer { unsafe CRYPTO_clear_free(start, Int(length), nil, 0) }
        return unsafe Array(UnsafeBufferPointer(start: start, count: Int(length)))
    }

    /// The PKCS #8 form, in PEM.
    package func pem() throws(CryptoError) -> String {
        PEMBlock(label: "PRIVATE KEY", bytes: try pkcs8()).text
    }

    /// The signature of `message`; DER for ECDSA.
    package func signature(
        of message: Span<UInt8>,
        _ algorithm: SignatureAlgorithm
    ) throws(CryptoError) -> [UInt8] {
        guard kind.allows(algorithm) else { throw .algorithmMismatch }
        guard let context = unsafe EVP_MD_CTX_new() else { throw .operationFailed }
        defer { unsafe EVP_MD_CTX_free(context) }
        var length = Int(unsafe EVP_PKEY_get_size(key))
        var signature = [UInt8](repeating: 0, count: length)
        let isMade =
            unsafe prepare(context, algorithm)
            && message.withUnsafeBufferPointer {
                unsafe EVP_DigestSign(context, &signature, &length, $0.baseAddress, $0.count) == 1
            }
        guard isMade else {
            clearLibraryErrors()
            throw .operationFailed
        }
        return Array(signature.prefix(length))
    }

    /// The signature of `message`, ECDSA as a fixed-width `r || s`.
    package func rawSignature(
        of message: Span<UInt8>,
        _ algorithm: SignatureAlgorithm
    ) throws(CryptoError) -> [UInt8] {
        let signature = try signature(of: message, algorithm)
        guard let width = kind.coordinateBytes else { return signature }
        return try ECDSASignature.raw(der: signature, width: width)
    }

    /// The signature of `message`; DER for ECDSA.
    package func signature(of message: [UInt8], _ algorithm: SignatureAlgorithm) throws(CryptoError) -> [UInt8] {
        try signature(of: message.span, algorithm)
    }

    /// The signature of `message`, ECDSA as a fixed-width `r || s`.
    package func rawSignature(of message: [UInt8], _ algorithm: SignatureAlgorithm) throws(CryptoError) -> [UInt8] {
        try rawSignature(of: message.span, algorithm)
    }

    private func prepare(_ context: OpaquePointer, _ algorithm: SignatureAlgorithm) -> Bool {
        var keyContext: OpaquePointer?
        switch algorithm {
        case .ed25519:
            return unsafe EVP_DigestSignInit(context, nil, nil, nil, key) == 1
        case .ecdsa(let hash), .rsaPKCS1(let hash):
            return unsafe EVP_DigestSignInit(context, nil, hash.fetched.pointer, nil, key) == 1
        case .rsaPSS(let hash):
            return unsafe EVP_DigestSignInit(context, &keyContext, hash.fetched.pointer, nil, key) == 1
                && EVP_PKEY_CTX_set_rsa_padding(keyContext, RSA_PKCS1_PSS_PADDING) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(keyContext, RSA_PSS_SALTLEN_DIGEST) == 1
        }
    }

    private static func configure(_ context: OpaquePointer, _ kind: KeyKind) -> Bool {
        switch kind {
        case .ed25519: return true
        case .rsa(let bits):
            guard let bits = CInt(exactly: bits) else { return false }
            return unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits) == 1
        case .p256, .p384, .p521:
            guard let curve = kind.curveName else { return false }
            return unsafe EVP_PKEY_CTX_set_group_name(context, curve) == 1
        }
    }
}

extension PrivateKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "[private key]" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
