// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// A reference to an algorithm of the library, fetched once: fetching it per call costs more than a small hash.
@safe
final class FetchedDigest: Sendable {
    // Proof: the pointer never changes, and the library's method objects are immutable and counted.
    nonisolated(unsafe) let pointer: OpaquePointer

    /// SHA-256.
    static let sha256 = FetchedDigest("SHA256")
    /// SHA-384.
    static let sha384 = FetchedDigest("SHA384")
    /// SHA-512.
    static let sha512 = FetchedDigest("SHA512")
    /// SHA-1, for the names of WebSocket handshakes only.
    static let sha1 = FetchedDigest("SHA1")

    private init(_ name: String) {
        guard let method = unsafe EVP_MD_fetch(nil, name, nil) else {
            preconditionFailure("the library lacks \(name)")
        }
        unsafe pointer = method
    }
}

/// The MAC method behind `HMACSHA256`, fetched once.
@safe
final class FetchedMAC: Sendable {
    // Proof: as for FetchedDigest.
    nonisolated(unsafe) let pointer: OpaquePointer

    /// HMAC.
    static let hmac = FetchedMAC("HMAC")

    private init(_ name: String) {
        guard let method = unsafe EVP_MAC_fetch(nil, name, nil) else {
            preconditionFailure("the library lacks \(name)")
        }
        unsafe pointer = method
    }
}

/// A cipher, fetched once.
@safe
final class FetchedCipher: Sendable {
    // Proof: as for FetchedDigest.
    nonisolated(unsafe) let pointer: OpaquePointer

    /// AES-256 in Galois/Counter mode.
    static let aes256GCM = FetchedCipher("AES-256-GCM")
    /// AES-256 key wrap of RFC 3394.
    static let aes256Wrap = FetchedCipher("AES-256-WRAP")

    private init(_ name: String) {
        guard let method = unsafe EVP_CIPHER_fetch(nil, name, nil) else {
            preconditionFailure("the library lacks \(name)")
        }
        unsafe pointer = method
    }
}

/// One cipher operation's state, freed with its owner.
@safe
struct CipherContext: ~Copyable {
    private let pointer: OpaquePointer

    init() {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
        unsafe pointer = context
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(pointer)
    }

    borrowing func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        unsafe body(pointer)
    }
}

/// Forgets what a failed call left in the library's per-thread error queue.
func clearLibraryErrors() {
    ERR_clear_error()
}
