// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// A secret: no description, no equality but in constant time, overwritten when the last reference goes.
@safe
package final class SecretBytes: Sendable {
    // Proof: the memory is written in init and deinit only, so every thread reads the same bytes.
    nonisolated(unsafe) private let memory: UnsafeMutableRawBufferPointer

    /// A copy of `bytes`; the caller's own copy is the caller's to wipe.
    package init(_ bytes: Span<UInt8>) {
        unsafe memory = .allocate(byteCount: bytes.count, alignment: 1)
        for index in 0..<bytes.count { unsafe memory[index] = bytes[index] }
    }

    /// Takes over `bytes` and wipes them.
    package convenience init(wiping bytes: inout [UInt8]) {
        self.init(bytes.span)
        Self.wipe(&bytes)
    }

    /// `count` fresh random bytes.
    package convenience init(random count: Int) throws(CryptoError) {
        var bytes = try RandomBytes.make(count)
        self.init(wiping: &bytes)
    }

    deinit {
        unsafe OPENSSL_cleanse(memory.baseAddress, memory.count)
        unsafe memory.deallocate()
    }

    /// How many bytes the secret has.
    package var count: Int {
        unsafe memory.count
    }

    /// Lends the bytes for the length of a call.
    package func withBytes<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let typed = unsafe memory.bindMemory(to: UInt8.self)
        return try body(unsafe Span(_unsafeElements: UnsafeBufferPointer(typed)))
    }

    /// Overwrites what was a copy of a secret, and empties it.
    ///
    /// The array must have no other owner: writing would copy it, and leave the original as it is.
    package static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
        bytes.removeAll()
    }

    /// A copy that the caller must look after, and `wipe`.
    package func copy() -> [UInt8] {
        unsafe Array(memory)
    }

    /// Whether `bytes` are the secret, in constant time.
    package func equals(_ bytes: Span<UInt8>) -> Bool {
        withBytes { ConstantTime.equal($0, bytes) }
    }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "[secret]" }
    package var debugDescription: String { "[secret]" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
