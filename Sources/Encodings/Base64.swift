// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why a text is not the base64 it should be.
package enum Base64Error: Error, Equatable {
    /// A byte outside the alphabet, white space included.
    case illegalCharacter
    /// A length that no run of bytes encodes to.
    case illegalLength
    /// Padding where none may stand, too much, or none where it must stand.
    case illegalPadding
    /// The unused bits of the last character are not zero, so two texts would mean the same bytes.
    case trailingBits
    /// More characters than the caller allows.
    case tooLong
}

/// RFC 4648 base64 in its two alphabets, read strictly: one byte string has exactly one text in each form.
package enum Base64 {
    /// Which 62nd and 63rd characters count.
    package enum Alphabet: Sendable {
        /// `+` and `/`.
        case standard
        /// `-` and `_`.
        case urlSafe
        /// Either pair, but not both in one text.
        case either
    }

    /// Whether `=` must, may or may not end a text that needs it.
    package enum Padding: Sendable {
        /// As RFC 4648 section 4 has it.
        case required
        /// As JOSE has it.
        case forbidden
        /// Whole or not at all.
        case optional
    }

    /// Decodes `text`, or says why it is not base64 of the form asked for.
    package static func decode(
        _ text: Span<UInt8>,
        alphabet: Alphabet = .standard,
        padding: Padding = .required,
        limit: Int = .max
    ) throws(Base64Error) -> [UInt8] {
        guard text.count <= limit else { throw .tooLong }
        let length = try significantLength(of: text, padding: padding)
        var decoder = Decoder(alphabet: alphabet, capacity: length / 4 * 3 + 2)
        for index in 0..<length {
            try decoder.take(text[index])
        }
        return try decoder.finish()
    }

    /// Decodes the UTF-8 of `text`.
    package static func decode(
        _ text: String,
        alphabet: Alphabet = .standard,
        padding: Padding = .required,
        limit: Int = .max
    ) throws(Base64Error) -> [UInt8] {
        var text = text
        text.makeContiguousUTF8()
        return try decode(text.utf8.span, alphabet: alphabet, padding: padding, limit: limit)
    }

    /// The text of `bytes` in the standard alphabet with padding.
    package static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: characters(of: bytes.span, alphabet: .standard, padded: true), as: UTF8.self)
    }

    /// The text of `bytes` in the URL-safe alphabet without padding, as JOSE and WebAuthn write it.
    package static func encodeURL(_ bytes: [UInt8]) -> String {
        String(decoding: characters(of: bytes.span, alphabet: .urlSafe, padded: false), as: UTF8.self)
    }

    /// The ASCII characters of `bytes`; `.either` writes the standard alphabet.
    package static func characters(of bytes: Span<UInt8>, alphabet: Alphabet, padded: Bool) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let taken = min(3, bytes.count - index)
            var group = UInt32(bytes[index]) << 16
            if taken > 1 { group |= UInt32(bytes[index + 1]) << 8 }
            if taken > 2 { group |= UInt32(bytes[index + 2]) }
            for place in 0...taken {
                text.append(character(of: UInt8((group >> UInt32(18 - 6 * place)) & 63), alphabet: alphabet))
            }
            if padded {
                for _ in taken..<3 { text.append(UInt8(ascii: "=")) }
            }
            index += 3
        }
        return text
    }

    private static func significantLength(of text: Span<UInt8>, padding: Padding) throws(Base64Error) -> Int {
        var length = text.count
        while length > 0, text.count - length < 2, text[length - 1] == UInt8(ascii: "=") { length -= 1 }
        let marks = text.count - length
        let needed = (4 - length % 4) % 4
        guard needed != 3 else { throw .illegalLength }
        switch padding {
        case .required where marks != needed: throw .illegalPadding
        case .forbidden where marks != 0: throw .illegalPadding
        case .optional where marks != 0 && marks != needed: throw .illegalPadding
        case .required, .forbidden, .optional: return length
        }
    }

    private static func character(of value: UInt8, alphabet: Alphabet) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: alphabet == .urlSafe ? UInt8(ascii: "-") : UInt8(ascii: "+")
        default: alphabet == .urlSafe ? UInt8(ascii: "_") : UInt8(ascii: "/")
        }
    }

    /// Six bits in, eight bits out.
    private struct Decoder {
        private var bytes: [UInt8] = []
        private var pending: UInt32 = 0
        private var bits = 0
        private var alphabet: Alphabet

        init(alphabet: Alphabet, capacity: Int) {
            self.alphabet = alphabet
            bytes.reserveCapacity(capacity)
        }

        mutating func take(_ character: UInt8) throws(Base64Error) {
            pending = pending << 6 | UInt32(try value(of: character))
            bits += 6
            guard bits >= 8 else { return }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: pending >> UInt32(bits)))
            pending &= (1 << UInt32(bits)) - 1
        }

        consuming func finish() throws(Base64Error) -> [UInt8] {
            guard pending == 0 else { throw .trailingBits }
            return bytes
        }

        private mutating func value(of character: UInt8) throws(Base64Error) -> UInt8 {
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): return character - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): return character - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): return character - UInt8(ascii: "0") + 52
            case UInt8(ascii: "+"): return try special(62, of: .standard)
            case UInt8(ascii: "/"): return try special(63, of: .standard)
            case UInt8(ascii: "-"): return try special(62, of: .urlSafe)
            case UInt8(ascii: "_"): return try special(63, of: .urlSafe)
            default: throw .illegalCharacter
            }
        }

        /// The first special character settles which alphabet an `.either` text is written in.
        private mutating func special(_ value: UInt8, of own: Alphabet) throws(Base64Error) -> UInt8 {
            if alphabet == .either { alphabet = own }
            guard alphabet == own else { throw .illegalCharacter }
            return value
        }
    }
}
