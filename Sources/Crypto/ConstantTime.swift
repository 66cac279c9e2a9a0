// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// Comparison whose time says nothing about where two byte strings differ.
package enum ConstantTime {
    /// Whether both are the same bytes; only their lengths may show in the time it takes.
    package static func equal(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe left.withUnsafeBufferPointer { left in
            unsafe right.withUnsafeBufferPointer { right in
                unsafe left.count == 0 || CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
            }
        }
    }

    /// Whether both are the same bytes.
    package static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        equal(left.span, right.span)
    }
}

/// Bytes that nobody can guess.
package enum RandomBytes {
    /// `count` fresh bytes.
    package static func make(_ count: Int) throws(CryptoError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        try fill(&bytes)
        return bytes
    }

    /// Overwrites all of `bytes`.
    package static func fill(_ bytes: inout [UInt8]) throws(CryptoError) {
        guard let count = CInt(exactly: bytes.count) else { throw .illegalLength }
        guard unsafe RAND_bytes(&bytes, count) == 1 else {
            clearLibraryErrors()
            throw .randomnessFailed
        }
    }
}
