// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// The token inside an authorization field.
package enum BearerField {
    /// The bytes after `Bearer` and its spaces, in any case (RFC 9110 11.4: one space or more); nil for
    /// another scheme or no token.
    package static func token(authorization value: Span<UInt8>) -> TokenRange? {
        TokenRange(oneWordOf: value, place(authorization: value))
    }

    /// The same, of a field off the hot path.
    package static func token(authorization text: String) -> String? {
        guard let place = token(authorization: text.utf8.span) else { return nil }
        return String(decoding: Array(text.utf8)[place.range], as: UTF8.self)
    }

    /// Where `token(authorization:)` would be, if it is one word: for who knows that word already.
    package static func place(authorization value: Span<UInt8>) -> Range<Int>? {
        startsWithScheme(value) ? rest(of: value, from: afterSpaces(value)) : nil
    }

    /// The same, or of the bare token: `x-client-authorization` is taken with and without the scheme (APP-066).
    package static func place(clientAuthorization value: Span<UInt8>) -> Range<Int>? {
        rest(of: value, from: startsWithScheme(value) ? afterSpaces(value) : 0)
    }

    /// Whether the field is of the bearer scheme, be its token well formed or not.
    package static func startsWithScheme(authorization value: Span<UInt8>) -> Bool {
        startsWithScheme(value) || (value.count == 6 && isScheme(value))
    }

    private static func rest(of value: Span<UInt8>, from start: Int) -> Range<Int>? {
        start < value.count ? start..<value.count : nil
    }

    private static func afterSpaces(_ value: Span<UInt8>) -> Int {
        var index = 7
        while index < value.count, value[index] == UInt8(ascii: " ") { index += 1 }
        return index
    }

    @inline(__always)
    private static func startsWithScheme(_ value: Span<UInt8>) -> Bool {
        guard value.count >= 8 else { return value.count == 7 && value[6] == UInt8(ascii: " ") && isScheme(value) }
        // "bearer " read little-endian; bit 5 folds the case of letters, and the space has it.
        return value.word(at: 0) & 0x00ff_ffff_ffff_ffff | 0x0000_2020_2020_2020 == 0x0020_7265_7261_6562
    }

    private static func isScheme(_ value: Span<UInt8>) -> Bool {
        let scheme = "bearer".utf8.span
        for index in 0..<6 where value[index] | 0x20 != scheme[index] { return false }
        return true
    }
}

/// Where the token is inside a field's value; a range, so that it outlives the look at the field.
package struct TokenRange: Sendable, Equatable {
    package let range: Range<Int>

    /// nil when there is nothing, or more than one word.
    fileprivate init?(oneWordOf value: Span<UInt8>, _ place: Range<Int>?) {
        guard let place, Self.isOneWord(value.extracting(place)) else { return nil }
        range = place
    }

    /// Whether all bytes are visible ASCII, eight at a time.
    package static func isOneWord(_ bytes: Span<UInt8>) -> Bool {
        var index = 0
        while index &+ 8 <= bytes.count {
            let word = bytes.word(at: index)
            let below = (word &- 0x2121_2121_2121_2121) & ~word
            let delete = word ^ 0x7f7f_7f7f_7f7f_7f7f
            let isDelete = (delete &- 0x0101_0101_0101_0101) & ~delete
            if (below | isDelete | word) & 0x8080_8080_8080_8080 != 0 { return false }
            index &+= 8
        }
        while index < bytes.count {
            if bytes[index] <= 0x20 || bytes[index] >= 0x7f { return false }
            index &+= 1
        }
        return true
    }
}
