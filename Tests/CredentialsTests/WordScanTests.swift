// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Credentials

@Suite struct WordScanTests {
    /// Texts of good bytes with any other byte at any place, in and behind the words that are looked at together.
    private func withEveryByte(of good: UInt8, _ check: (Span<UInt8>) -> Bool, isGood: (UInt8) -> Bool) {
        for count in [1, 7, 8, 9, 17] {
            for place in 0..<count {
                for byte in UInt8.min...UInt8.max {
                    var text = [UInt8](repeating: good, count: count)
                    text[place] = byte
                    let found = check(text.span)
                    #expect(found == isGood(byte), "\(byte) at \(place) of \(count)")
                }
            }
        }
    }

    @Test func `one word is made of visible ASCII only`() {
        withEveryByte(of: UInt8(ascii: "a"), TokenRange.isOneWord) { (0x21...0x7e).contains($0) }
        withEveryByte(of: 0x21, TokenRange.isOneWord) { (0x21...0x7e).contains($0) }
        withEveryByte(of: 0x7e, TokenRange.isOneWord) { (0x21...0x7e).contains($0) }
    }

    @Test func `digits of base 62 are told from every other byte`() {
        for good in [UInt8(ascii: "0"), UInt8(ascii: "Z"), UInt8(ascii: "z")] {
            withEveryByte(of: good, Base62.areDigits, isGood: Base62.isDigit)
        }
    }
}
