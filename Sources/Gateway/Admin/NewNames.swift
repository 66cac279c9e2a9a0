// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials

/// Makes up ids that cannot be guessed or met twice.
enum NewNames {
    /// `app_` and 16 letters or digits: 95 bits.
    static func appID() -> AppID.RawValue {
        "app_" + random(16, from: "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    }

    /// 24 hexadecimal digits.
    static func recordID() -> RecordID {
        RecordID(rawValue: random(24, from: "0123456789abcdef"))
    }

    /// An app's secret: `sallysec_` for people and secret scanners, and 40 letters or digits, 238 bits.
    static func secret() -> String {
        "sallysec_" + random(40, from: "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    }

    /// A token of the admin API.
    static func adminToken() -> String {
        AdminTokenText.prefix + random(44, from: "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    }

    /// A debug token: `adt_` for people and secret scanners, and 25 letters or digits, 148 bits.
    static func debugToken() -> String {
        "adt_" + random(25, from: "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    }

    /// The id of a debug token.
    static func debugTokenID() -> String { "dt_" + random(12, from: "0123456789abcdefghijklmnopqrstuvwxyz") }

    /// The id of a token.
    static func tokenID() -> String { random(24, from: "0123456789abcdefghijklmnopqrstuvwxyz") }

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
                byte.isLowerLetter || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x2E || byte == 0x5F
            }
    }

    /// Whether a text may name something for people: at most 100 bytes, none of which a terminal would obey.
    static func isName(_ text: String) -> Bool {
        (1...100).contains(text.utf8.count)
            && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    private static func random(_ count: Int, from alphabet: String) -> String {
        let letters = Array(alphabet.unicodeScalars)
        var random = SystemRandomNumberGenerator()
        var text = ""
        for _ in 0..<count { text.unicodeScalars.append(letters[Int.random(in: letters.indices, using: &random)]) }
        return text
    }
}
