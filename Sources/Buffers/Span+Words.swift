// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

extension Span<UInt8> {
    /// The eight bytes from `offset` on, first byte lowest: one checked load for readers that compare words.
    @inlinable @inline(__always)
    package func word(at offset: Int) -> UInt64 {
        precondition(offset >= 0 && offset <= count &- 8, "read past the end of a span")
        return unsafe UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
    }

    /// Whether both hold the same bytes, by the C library's wide comparison: for long ones that are no secret.
    package func holdsSameBytes(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { mine in
            unsafe other.withUnsafeBytes { theirs in
                guard let left = mine.baseAddress, let right = theirs.baseAddress else { return true }
                return unsafe memcmp(left, right, mine.count) == 0
            }
        }
    }
}
