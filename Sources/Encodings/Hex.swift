// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why a text is not hexadecimal.
package enum HexError: Error, Equatable {
    /// A byte that is no hexadecimal digit.
    case illegalCharacter
    /// An odd number of digits.
    case oddLength
}

/// Bytes as pairs of hexadecimal digits.
package enum Hex {
    /// Decodes digits of either case; separators are refused.
    package static func decode(_ text: String) throws(HexError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count / 2)
        var high: UInt8?
        for character in text.utf8 {
            guard let value = value(of: character) else { throw .illegalCharacter }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        guard high == nil else { throw .oddLength }
        return bytes
    }

    /// Lower-case digits of `bytes`.
    package static func encode(_ bytes: [UInt8]) -> String {
        encode(bytes.span)
    }

    /// Lower-case digits of `bytes`.
    package static func encode(_ bytes: Span<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for index in 0..<bytes.count {
            text.append(digit(of: bytes[index] >> 4))
            text.append(digit(of: bytes[index] & 15))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The lower-case digit of a value below 16.
    @inline(__always)
    package static func digit(of value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "a") &- 10 &+ value
    }

    /// The upper-case digit of a value below 16, as percent-encoding writes it (RFC 3986 2.1).
    @inline(__always)
    package static func upperDigit(of value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "A") &- 10 &+ value
    }

    /// The value of a digit of either case; nil for any other byte.
    @inline(__always)
    package static func value(of digit: UInt8) -> UInt8? {
        let decimal = digit &- UInt8(ascii: "0")
        if decimal < 10 { return decimal }
        let letter = (digit | 0x20) &- UInt8(ascii: "a")
        return letter < 6 ? letter &+ 10 : nil
    }
}
