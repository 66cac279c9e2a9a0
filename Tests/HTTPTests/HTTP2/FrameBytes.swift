// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Frames written by hand, for what no honest peer sends.
enum FrameBytes {
    static let preface = latin1("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

    static func frame(_ type: UInt8, flags: UInt8 = 0, stream: Int = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16), UInt8(length >> 8 & 255), UInt8(length & 255), type, flags]
            + big(stream) + payload
    }

    static func big(_ value: Int) -> [UInt8] {
        [UInt8(value >> 24 & 127), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }

    static let settings = frame(4)
    static let start = preface + settings

    /// A header block of literals that nobody is to index.
    static func block(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { field in [0x00] + text(field.0) + text(field.1) }
    }

    private static func text(_ text: String) -> [UInt8] {
        let bytes = latin1(text)
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var rest = bytes.count - 127
        var length: [UInt8] = [127]
        while rest >= 128 {
            length.append(UInt8(rest & 127 | 128))
            rest >>= 7
        }
        return length + [UInt8(rest)] + bytes
    }

    static let get: [(String, String)] = [
        (":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a.test"),
    ]

    /// HEADERS with END_HEADERS, and END_STREAM where `ends`.
    static func headers(_ fields: [(String, String)], stream: Int = 1, ends: Bool = true) -> [UInt8] {
        frame(1, flags: ends ? 5 : 4, stream: stream, block(fields))
    }
}
