// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import HTTP

/// Makes up ids that cannot be guessed or met twice.
enum NewNames {
    /// `app_` and 16 letters or digits: 95 bits.
    static func appID() -> AppID.RawValue {
        "app_" + lettersAndDigits(16)
    }

    /// 24 hexadecimal digits.
    static func recordID() -> RecordID {
        RecordID(rawValue: Hex.encode(randomBytes(12)))
    }

    /// An app's secret: `sallysec_` for people and secret scanners, and 40 letters or digits, 238 bits.
    static func secret() -> String {
        "sallysec_" + lettersAndDigits(40)
    }

    /// A token of the admin API.
    static func adminToken() -> String {
        AdminTokenText.prefix + lettersAndDigits(44)
    }

    /// A debug token: `adt_` for people and secret scanners, and 25 letters or digits, 148 bits.
    static func debugToken() -> String {
        "adt_" + lettersAndDigits(25)
    }

    /// The id of a debug token.
    static func debugTokenID() -> String { "dt_" + lowerCase(12) }

    /// The id of a token.
    static func tokenID() -> String { lowerCase(24) }

    /// A username made from a name for people: `My App` becomes `my-app`.
    static func username(from name: String) -> String {
        var username = ""
        for scalar in name.lowercased().unicodeScalars {
            if isUsername(String(scalar)) {
                username.unicodeScalars.append(scalar)
            } else if !username.hasSuffix("-"), !username.isEmpty {
                username += "-"
            }
        }
        while username.hasSuffix("-") { username.removeLast() }
        return String(username.prefix(63))
    }

    /// Whether a text is 1 to 63 lower-case letters, digits, `-`, `.` and `_`.
    static func isUsername(_ text: String) -> Bool {
        (1...63).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || byte.isASCIIDigit || byte == 0x2D || byte == 0x2E || byte == 0x5F
            }
    }

    /// Whether a text may name something for people: at most 100 bytes, and nothing in it that is not seen.
    static func isName(_ text: String) -> Bool {
        (1...100).contains(text.utf8.count) && !text.unicodeScalars.contains(where: \.isUnseen)
    }

    /// What is said of one that may not.
    static let nameRule =
        "1 to 100 bytes, without control characters and without invisible ones, such as those that "
        + "turn the direction of a text"

    /// As many bytes of the system's randomness.
    static func randomBytes(_ count: Int) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    private static func lettersAndDigits(_ count: Int) -> String {
        String(decoding: Base62.digits(count, random: randomBytes), as: UTF8.self)
    }

    private static func lowerCase(_ count: Int) -> String {
        let letters = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)
        var random = SystemRandomNumberGenerator()
        return String(
            decoding: (0..<count).map { _ in letters[Int.random(in: letters.indices, using: &random)] },
            as: UTF8.self
        )
    }
}

extension Unicode.Scalar {
    /// Whether it is nothing that a person sees: it steers the terminal, ends a line, turns the direction of what follows,
    /// or makes two names look the same.
    package var isUnseen: Bool {
        switch value {
        // Persian is spelled with the one, and families of emoji with the other.
        case 0x200C, 0x200D: return false
        // Fillers, which are letters by their category.
        case 0x034F, 0x115F, 0x1160, 0x3164, 0xFFA0: return true
        default: break
        }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}
