// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// Appends JSON members to a buffer without allocating.
enum JSONLine {
    /// Appends `"name":"text"` after a comma; text that a client chose is escaped.
    static func append(_ name: StaticString, _ text: String?, to buffer: inout ByteBuffer) {
        guard let text else { return }
        key(name, to: &buffer)
        buffer.append(UInt8(ascii: "\""))
        var utf8 = text
        utf8.makeContiguousUTF8()
        escape(utf8.utf8.span, to: &buffer)
        buffer.append(UInt8(ascii: "\""))
    }

    static func append(_ name: StaticString, _ bytes: Span<UInt8>, to buffer: inout ByteBuffer) {
        key(name, to: &buffer)
        buffer.append(UInt8(ascii: "\""))
        escape(bytes, to: &buffer)
        buffer.append(UInt8(ascii: "\""))
    }

    static func append(_ name: StaticString, word: StaticString, to buffer: inout ByteBuffer) {
        key(name, to: &buffer)
        buffer.append(UInt8(ascii: "\""))
        buffer.append(word)
        buffer.append(UInt8(ascii: "\""))
    }

    static func append(_ name: StaticString, number: Int, to buffer: inout ByteBuffer) {
        key(name, to: &buffer)
        buffer.append(decimal: number)
    }

    /// Appends microseconds as seconds with six digits.
    static func append(_ name: StaticString, microseconds: Int, to buffer: inout ByteBuffer) {
        key(name, to: &buffer)
        buffer.append(decimal: microseconds / 1_000_000)
        buffer.append(UInt8(ascii: "."))
        digits(microseconds % 1_000_000, width: 6, to: &buffer)
    }

    static func digits(_ value: Int, width: Int, to buffer: inout ByteBuffer) {
        var divisor = 1
        for _ in 1..<width { divisor *= 10 }
        while divisor > 0 {
            buffer.append(0x30 &+ UInt8(truncatingIfNeeded: value / divisor % 10))
            divisor /= 10
        }
    }

    private static func key(_ name: StaticString, to buffer: inout ByteBuffer) {
        buffer.append(",\"")
        buffer.append(name)
        buffer.append("\":")
    }

    /// Bytes of a string literal; bytes above ASCII are written as `\u00XX` because a header need not be UTF-8.
    private static func escape(_ bytes: Span<UInt8>, to buffer: inout ByteBuffer) {
        var start = 0
        for index in bytes.indices {
            let byte = bytes[index]
            if byte >= 0x20 && byte < 0x7F && byte != 0x22 && byte != 0x5C { continue }
            buffer.append(bytes.extracting(start..<index))
            start = index + 1
            switch byte {
            case 0x22: buffer.append("\\\"")
            case 0x5C: buffer.append("\\\\")
            default:
                buffer.append("\\u00")
                buffer.append(hex(byte >> 4))
                buffer.append(hex(byte & 15))
            }
        }
        buffer.append(bytes.extracting(start..<bytes.count))
    }

    private static func hex(_ digit: UInt8) -> UInt8 {
        digit < 10 ? 0x30 &+ digit : 0x57 &+ digit
    }
}
