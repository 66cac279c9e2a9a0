// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Encodings

/// Appends JSON members to a buffer without allocating; `member` is a literal such as `,"name":`, so that most of a
/// line is copied and not made.
enum JSONLine {
    /// Appends `member` and the text in quotes; text that a client chose is escaped.
    @inline(__always)
    static func append(_ member: StaticString, _ text: String?, to buffer: inout ByteBuffer) {
        guard let text else { return }
        append(member, text.utf8.span, to: &buffer)
    }

    @inline(__always)
    static func append(_ member: StaticString, _ bytes: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(member)
        quote(bytes, to: &buffer)
    }

    /// Appends `member` and a text of our own making, which holds nothing to escape.
    @inline(__always)
    static func append(_ member: StaticString, plain text: String?, to buffer: inout ByteBuffer) {
        guard let text else { return }
        buffer.append(member)
        buffer.append(UInt8(ascii: "\""))
        buffer.append(text.utf8.span)
        buffer.append(UInt8(ascii: "\""))
    }

    @inline(__always)
    static func append(_ member: StaticString, word: StaticString, to buffer: inout ByteBuffer) {
        buffer.append(member)
        buffer.append(UInt8(ascii: "\""))
        buffer.append(word)
        buffer.append(UInt8(ascii: "\""))
    }

    @inline(__always)
    static func append(_ member: StaticString, number: Int, to buffer: inout ByteBuffer) {
        buffer.append(member)
        buffer.append(decimal: number)
    }

    /// Appends microseconds as seconds with six digits.
    @inline(__always)
    static func append(_ member: StaticString, microseconds: Int, to buffer: inout ByteBuffer) {
        buffer.append(member)
        buffer.append(decimal: microseconds / 1_000_000)
        fraction(microseconds % 1_000_000, to: &buffer)
    }

    /// Appends a point and six digits.
    static func fraction(_ millionths: Int, to buffer: inout ByteBuffer) {
        // The lowest byte leaves first: digits are shifted in from the right end of the number.
        var word: UInt64 = 0
        var rest = UInt32(truncatingIfNeeded: millionths)
        for _ in 0..<6 {
            word = word << 8 | UInt64(0x30 + rest % 10)
            rest /= 10
        }
        word = word << 8 | UInt64(UInt8(ascii: "."))
        for _ in 0..<7 {
            buffer.append(UInt8(truncatingIfNeeded: word))
            word >>= 8
        }
    }

    /// A member made ahead, for a text that many lines tell.
    static func member(_ member: StaticString, _ text: String) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 64)
        append(member, text, to: &buffer)
        let bytes = buffer.bytes
        return bytes.indices.map { bytes[$0] }
    }

    private static func quote(_ bytes: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(UInt8(ascii: "\""))
        if isPlain(bytes) { buffer.append(bytes) } else { escape(bytes, to: &buffer) }
        buffer.append(UInt8(ascii: "\""))
    }

    /// Whether no byte needs an escape, eight at a time.
    private static func isPlain(_ bytes: Span<UInt8>) -> Bool {
        var index = 0
        var odd: UInt64 = 0
        while index &+ 8 <= bytes.count {
            let word = bytes.word(at: index)
            // A byte below 0x20, above 0x7E, a quote or a backslash sets its top bit; a borrow only follows a true one.
            odd |= word | (word &- (ones &* 0x20)) | (word &+ ones)
            odd |= ((word ^ (ones &* 0x22)) &- ones) | ((word ^ (ones &* 0x5C)) &- ones)
            index &+= 8
        }
        guard odd & tops == 0 else { return false }
        while index < bytes.count {
            guard isPlain(bytes[index]) else { return false }
            index &+= 1
        }
        return true
    }

    @inline(__always)
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7F && byte != 0x22 && byte != 0x5C
    }

    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    private static var tops: UInt64 { 0x8080_8080_8080_8080 }

    /// Bytes of a string literal; bytes above ASCII are written as `\u00XX` because a header need not be UTF-8.
    private static func escape(_ bytes: Span<UInt8>, to buffer: inout ByteBuffer) {
        var start = 0
        for index in bytes.indices where !isPlain(bytes[index]) {
            buffer.append(bytes.extracting(start..<index))
            start = index + 1
            switch bytes[index] {
            case 0x22: buffer.append("\\\"")
            case 0x5C: buffer.append("\\\\")
            default:
                buffer.append("\\u00")
                buffer.append(Hex.digit(of: bytes[index] >> 4))
                buffer.append(Hex.digit(of: bytes[index] & 15))
            }
        }
        buffer.append(bytes.extracting(start..<bytes.count))
    }
}
