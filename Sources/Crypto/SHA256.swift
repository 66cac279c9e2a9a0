// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// The 32 bytes of a SHA-256 hash or an HMAC over it; compared in constant time.
package struct Digest: Hashable, Sendable {
    private var storage: InlineArray<32, UInt8>

    /// A digest of zeros, to be filled.
    init() {
        storage = InlineArray(repeating: 0)
    }

    /// A digest of these bytes, or nil if they are not 32.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        storage = InlineArray { bytes[$0] }
    }

    /// The bytes in place.
    package var span: Span<UInt8> {
        @_lifetime(borrow self)
        get { storage.span }
    }

    /// The bytes as an array.
    package var bytes: [UInt8] {
        (0..<32).map { storage[$0] }
    }

    /// Lets the library write the bytes.
    mutating func withPointer<Result>(_ body: (UnsafeMutablePointer<UInt8>) -> Result) -> Result {
        var span = storage.mutableSpan
        return unsafe span.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress.unsafelyUnwrapped) }
    }

    package static func == (left: Digest, right: Digest) -> Bool {
        ConstantTime.equal(left.span, right.span)
    }

    package func hash(into hasher: inout Hasher) {
        // A digest is uniform already: eight bytes of it place it as well as all would.
        var word: UInt64 = 0
        for index in 0..<8 { word = word << 8 | UInt64(storage[index]) }
        hasher.combine(word)
    }
}

/// A SHA-256 computation whose state is made once and used again; one owner, one thread.
@safe
package final class SHA256 {
    private let context: OpaquePointer

    /// A computation that has taken nothing yet.
    package init() {
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        unsafe self.context = context
        reset()
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
    }

    /// Takes more bytes.
    package func update(_ bytes: Span<UInt8>) {
        let status = unsafe bytes.withUnsafeBufferPointer {
            unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count)
        }
        precondition(status == 1, "SHA-256 cannot refuse input")
    }

    /// The digest of what was taken; the computation starts afresh.
    package func finish() -> Digest {
        var digest = Digest()
        let status = unsafe digest.withPointer { unsafe EVP_DigestFinal_ex(context, $0, nil) }
        precondition(status == 1, "SHA-256 cannot fail")
        reset()
        return digest
    }

    /// The digest of `bytes`, where no computation is at hand.
    package static func hash(_ bytes: Span<UInt8>) -> Digest {
        let computation = SHA256()
        computation.update(bytes)
        return computation.finish()
    }

    /// The digest of `bytes`, where no computation is at hand.
    package static func hash(_ bytes: [UInt8]) -> Digest {
        hash(bytes.span)
    }

    private func reset() {
        let status = unsafe EVP_DigestInit_ex(context, FetchedDigest.sha256.pointer, nil)
        precondition(status == 1, "SHA-256 cannot fail to start")
    }
}

/// SHA-1, which RFC 6455 wants in the WebSocket handshake and nothing else may use.
package enum SHA1 {
    /// The 20 bytes of the hash of `bytes`.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 20)
        let status = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, FetchedDigest.sha1.pointer, nil)
        precondition(status == 1, "SHA-1 cannot fail")
        return digest
    }
}
