// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

extension Span where Element == UInt8 {
    /// Whether these are exactly the bytes of `text`; allocates nothing.
    @inline(__always)
    package func equals(_ text: String) -> Bool {
        let other = text.utf8.span
        guard count == other.count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }

    /// Whether both hold the same bytes; not for secrets.
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
    @inline(__always)
    package func starts(_ text: String) -> Bool {
        let other = text.utf8.span
        guard count >= other.count else { return false }
        for index in other.indices where self[index] != other[index] { return false }
        return true
    }

    /// FNV-1a over the bytes: for tables whose keys an outsider cannot choose (they are configured), never for others.
    @inline(__always)
    func tableHash(from seed: UInt64) -> UInt64 {
        var hash = seed
        for index in indices { hash = (hash ^ UInt64(self[index])) &* 0x0000_0100_0000_01b3 }
        return hash
    }

    /// The bytes as text when they are UTF-8; off the hot path.
    package var validText: String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for index in indices { bytes.append(self[index]) }
        return String(validating: bytes, as: UTF8.self)
    }
}
