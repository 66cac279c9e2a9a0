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
                unsafe left.count == 0 || isEqual(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
            }
        }
    }

    /// Gathers the difference of whole words first; the library, whose answer no compiler foresees, sees it as bytes.
    private static func isEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        let words = left.count / 8
        var difference: UInt64 = 0
        for word in 0..<words {
            difference |=
                unsafe left.loadUnaligned(fromByteOffset: word * 8, as: UInt64.self)
                ^ right.loadUnaligned(fromByteOffset: word * 8, as: UInt64.self)
        }
        var none: UInt64 = 0
        let whole = unsafe CRYPTO_memcmp(&difference, &none, 8)
        let rest = left.count - words * 8
        guard rest > 0 else { return whole == 0 }
        let tail = unsafe CRYPTO_memcmp(
            left.baseAddress.unsafelyUnwrapped.advanced(by: words * 8),
            right.baseAddress.unsafelyUnwrapped.advanced(by: words * 8),
            rest
        )
        return whole | tail == 0
    }

    /// Whether both are the same bytes.
    package static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        equal(left.span, right.span)
    }
}
