// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// Comparisons of what is no secret; secrets are compared in constant time.
extension Span<UInt8> {
    /// Whether these are exactly the bytes of `text`; allocates nothing.
    @inlinable @inline(__always)
    package func equals(_ text: String) -> Bool {
        let other = text.utf8.span
        guard count == other.count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }

    /// Whether both hold the same bytes.
    @inlinable
    package func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        var index = 0
        while index &+ 8 <= count {
            if word(at: index) != other.word(at: index) { return false }
            index &+= 8
        }
        while index < count {
            if self[index] != other[index] { return false }
            index &+= 1
        }
        return true
    }

    /// Whether these bytes begin with those of `text`.
    @inlinable @inline(__always)
    package func starts(_ text: String) -> Bool {
        let other = text.utf8.span
        guard count >= other.count else { return false }
        for index in other.indices where self[index] != other[index] { return false }
        return true
    }

    /// Whether both hold the same bytes, by the C library's wide comparison: for long ones.
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
