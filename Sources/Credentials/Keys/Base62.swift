// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// The digits 0-9, A-Z, a-z, in which keys, ids and secrets are written.
package enum Base62 {
    /// How many digits a checksum has.
    static let checksumLength = 6

    /// As many random digits; `random` gives as many uniform bytes as it is asked for.
    package static func digits(_ count: Int, random: (Int) -> [UInt8]) -> [UInt8] {
        var digits: [UInt8] = []
        while digits.count < count {
            // 248 = 4 * 62: bytes above it would favour the first digits.
            for byte in random(count) where byte < 248 && digits.count < count {
                digits.append(digit(Int(byte % 62)))
            }
        }
        return digits
    }

    /// The CRC-32 of `bytes`, the highest digit first.
    static func checksum(of bytes: Span<UInt8>) -> InlineArray<6, UInt8> {
        var sum = CRC32.checksum(of: bytes)
        var digits = InlineArray<6, UInt8>(repeating: 0)
        for index in stride(from: checksumLength - 1, through: 0, by: -1) {
            digits[index] = digit(Int(sum % 62))
            sum /= 62
        }
        return digits
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    /// Whether all bytes are digits, eight at a time.
    static func areDigits(_ bytes: Span<UInt8>) -> Bool {
        var index = 0
        while index &+ 8 <= bytes.count {
            guard areDigits(bytes.word(at: index)) else { return false }
            index &+= 8
        }
        while index < bytes.count {
            guard isDigit(bytes[index]) else { return false }
            index &+= 1
        }
        return true
    }

    /// Whether all eight bytes of a word are digits.
    ///
    /// Of bytes below 128 adding `128 - n` sets the highest bit of those that are `n` or more,
    /// and carries into no other.
    @inline(__always)
    private static func areDigits(_ word: UInt64) -> Bool {
        let folded = word | 0x2020_2020_2020_2020
        let letters = (folded &+ 0x1f1f_1f1f_1f1f_1f1f) & ~(folded &+ 0x0505_0505_0505_0505)
        let digits = (word &+ 0x5050_5050_5050_5050) & ~(word &+ 0x4646_4646_4646_4646)
        return (letters | digits) & ~word & 0x8080_8080_8080_8080 == 0x8080_8080_8080_8080
    }

    private static func digit(_ value: Int) -> UInt8 {
        switch value {
        case ..<10: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value)
        case ..<36: UInt8(ascii: "A") + UInt8(truncatingIfNeeded: value - 10)
        default: UInt8(ascii: "a") + UInt8(truncatingIfNeeded: value - 36)
        }
    }
}
