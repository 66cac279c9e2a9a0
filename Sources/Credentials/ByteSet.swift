// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// A small immutable set of byte strings that is asked with borrowed bytes and answers without allocating.
///
/// Open addressing over a power of two at least twice the count. Its keys come from the registry, so the plain hash
/// cannot be turned against it by a request.
package struct ByteSet: Sendable {
    private let strings: [[UInt8]]
    /// Index into `strings` plus one; 0 is free.
    private let slots: [UInt32]

    package init(_ texts: [String]) {
        var size = 4
        while size < texts.count * 2 { size *= 2 }
        var strings: [[UInt8]] = []
        var slots = [UInt32](repeating: 0, count: size)
        for text in texts {
            let bytes = Array(text.utf8)
            var slot = Int(truncatingIfNeeded: bytes.span.tableHash(from: ByteSet.seed)) & (size - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (size - 1) }
            strings.append(bytes)
            slots[slot] = UInt32(strings.count)
        }
        self.strings = strings
        self.slots = slots
    }

    package var isEmpty: Bool { strings.isEmpty }

    /// Whether exactly these bytes are in the set.
    package func contains(_ bytes: Span<UInt8>) -> Bool {
        contains(bytes, followedBy: "")
    }

    /// Whether the bytes and then `ending` are in the set as one string.
    package func contains(_ bytes: Span<UInt8>, followedBy ending: String) -> Bool {
        if strings.count <= Self.few { return holds(bytes, followedBy: ending) }
        let hash = ending.utf8.span.tableHash(from: bytes.tableHash(from: ByteSet.seed))
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] != 0 {
            if Self.isSame(strings[Int(slots[slot]) - 1], bytes, followedBy: ending) { return true }
            slot = (slot + 1) & (slots.count - 1)
        }
        return false
    }

    /// Up to so many strings are compared one by one: that is done before a hash is.
    private static let few = 4

    private func holds(_ bytes: Span<UInt8>, followedBy ending: String) -> Bool {
        for candidate in strings where Self.isSame(candidate, bytes, followedBy: ending) { return true }
        return false
    }

    @inline(__always)
    private static func isSame(_ candidate: [UInt8], _ bytes: Span<UInt8>, followedBy ending: String) -> Bool {
        guard candidate.count == bytes.count + ending.utf8.count else { return false }
        let span = candidate.span
        return span.extracting(first: bytes.count).equals(bytes)
            && (ending.isEmpty || span.extracting(droppingFirst: bytes.count).equals(ending))
    }

    private static let seed: UInt64 = 0xcbf2_9ce4_8422_2325
}
