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
            let value = try digit(character)
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
            text.append(character(bytes[index] >> 4))
            text.append(character(bytes[index] & 15))
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func character(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    private static func digit(_ character: UInt8) throws(HexError) -> UInt8 {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): return character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): return character - UInt8(ascii: "A") + 10
        default: throw .illegalCharacter
        }
    }
}
