// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// Finds where a run of allowed bytes ends, eight bytes at a time while nothing unusual is met.
enum ByteScan {
    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    private static var tops: UInt64 { 0x8080_8080_8080_8080 }

    /// The first byte at or after `start` that no field value may hold, or the end.
    @inline(__always)
    static func endOfValue(_ bytes: Span<UInt8>, from start: Int) -> Int {
        var at = start
        while at &+ 8 <= bytes.count {
            let word = bytes.word(at: at)
            // Below 0x20, or 0x7f; the lowest mark is exact, so a tab merely ends the fast run.
            let marks = below(word, 0x20) | equal(word, 0x7f)
            guard marks == 0 else {
                at &+= marks.trailingZeroBitCount &>> 3
                break
            }
            at &+= 8
        }
        while at < bytes.count, ByteClass.table[Int(bytes[at])] & ByteClass.value != 0 { at &+= 1 }
        return at
    }

    /// The first byte at or after `start` that no target may hold, or the end.
    @inline(__always)
    static func endOfTarget(_ bytes: Span<UInt8>, from start: Int) -> Int {
        var at = start
        while at &+ 8 <= bytes.count {
            let word = bytes.word(at: at)
            let marks = below(word, 0x21) | equal(word, 0x7f) | equal(word, 0x23) | word & tops
            guard marks == 0 else {
                at &+= marks.trailingZeroBitCount &>> 3
                break
            }
            at &+= 8
        }
        while at < bytes.count, ByteClass.table[Int(bytes[at])] & ByteClass.target != 0 { at &+= 1 }
        return at
    }

    /// A byte at or after `start` that is no letter and no hyphen, or one of the last seven: most
    /// of a name passes in words.
    @inline(__always)
    static func endOfPlainName(_ bytes: Span<UInt8>, from start: Int) -> Int {
        var at = start
        while at &+ 8 <= bytes.count {
            let word = bytes.word(at: at)
            let folded = word | ones &* 0x20
            // A letter in lower case is neither below `a` nor above `z`; sums and differences stay within their bytes
            // because top bits are taken out first and count as unusual.
            let low = folded & ~tops
            let isLetter = (low &+ ones &* (0x80 - 0x61)) & ~(low &+ ones &* (0x80 - 0x7b)) & ~word & tops
            let hyphen = (word & ~tops) ^ ones &* 0x2d
            let isHyphen = ~((hyphen &+ ones &* 0x7f) | word) & tops
            let others = (isLetter | isHyphen) ^ tops
            guard others == 0 else { return at &+ others.trailingZeroBitCount &>> 3 }
            at &+= 8
        }
        return at
    }

    /// Marks the top bit of bytes less than `limit`, which is at most 0x80; exact up to and with the lowest mark.
    @inline(__always)
    private static func below(_ word: UInt64, _ limit: UInt64) -> UInt64 {
        (word &- ones &* limit) & ~word & tops
    }

    /// Marks the top bit of bytes equal to `byte`; exact up to and with the lowest mark.
    @inline(__always)
    private static func equal(_ word: UInt64, _ byte: UInt64) -> UInt64 {
        let difference = word ^ (ones &* byte)
        return (difference &- ones) & ~difference & tops
    }
}
