// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// A fast keyed hash of the names of one table: nobody outside knows the key, so nobody can aim at one place of it.
///
/// Multiply and fold over words; what it finds is always compared in full, so two names that meet cost a step and
/// nothing else.
package struct NameDigest {
    private let key: (UInt64, UInt64)

    /// A hash under a key of its own.
    package init() {
        key = (.random(in: .min ... .max), .random(in: .min ... .max))
    }

    /// The digest of a name of this kind.
    @inline(__always)
    func of(_ kind: DirectoryKind, _ name: Span<UInt8>) -> UInt64 {
        finish(mix(key.0 ^ UInt64(kind.rawValue), name))
    }

    /// The digest of a name in two parts.
    func of(_ kind: DirectoryKind, _ first: Span<UInt8>, _ second: Span<UInt8>) -> UInt64 {
        finish(mix(mix(key.0 ^ UInt64(kind.rawValue), first), second))
    }

    /// The digest of bytes that are no name of the directory.
    package func of(_ bytes: Span<UInt8>) -> UInt64 {
        finish(mix(key.0, bytes))
    }

    @inline(__always)
    private func mix(_ seed: UInt64, _ bytes: Span<UInt8>) -> UInt64 {
        var state = fold(seed ^ UInt64(truncatingIfNeeded: bytes.count) &* 0x9e37_79b9_7f4a_7c15)
        var index = 0
        while index &+ 8 <= bytes.count {
            state = fold(state ^ bytes.word(at: index))
            index &+= 8
        }
        var rest: UInt64 = 0
        while index < bytes.count {
            rest = rest << 8 | UInt64(bytes[index])
            index &+= 1
        }
        return fold(state ^ rest)
    }

    @inline(__always)
    private func finish(_ state: UInt64) -> UInt64 {
        let product = (state ^ key.0).multipliedFullWidth(by: 0x9e37_79b9_7f4a_7c15)
        return product.high ^ product.low
    }

    @inline(__always)
    private func fold(_ state: UInt64) -> UInt64 {
        let product = state.multipliedFullWidth(by: key.1 | 1)
        return product.high ^ product.low
    }
}
