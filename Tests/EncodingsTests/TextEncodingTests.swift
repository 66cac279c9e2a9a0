// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Testing

@Suite struct Base64Tests {
    // RFC 4648 section 10, and bytes that show the two alphabets apart.
    static let pairs: [(String, String)] = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test(arguments: pairs)
    func `bytes and texts are one to one`(plain: String, text: String) throws {
        #expect(Base64.encode(Array(plain.utf8)) == text)
        #expect(try Base64.decode(text) == Array(plain.utf8))
        let bare = text.filter { $0 != "=" }
        #expect(Base64.encodeURL(Array(plain.utf8)) == bare)
        #expect(try Base64.decode(bare, alphabet: .urlSafe, padding: .forbidden) == Array(plain.utf8))
        #expect(try Base64.decode(bare, padding: .optional) == Array(plain.utf8))
    }

    @Test func `each alphabet is its own, and either is not both`() throws {
        #expect(try Base64.decode("+/+/") == [0xfb, 0xff, 0xbf])
        #expect(try Base64.decode("-_-_", alphabet: .urlSafe) == [0xfb, 0xff, 0xbf])
        #expect(try Base64.decode("-_-_", alphabet: .either) == Base64.decode("+/+/", alphabet: .either))
        #expect(throws: Base64Error.illegalCharacter) { try Base64.decode("-_-_") }
        #expect(throws: Base64Error.illegalCharacter) { try Base64.decode("+/+/", alphabet: .urlSafe) }
        #expect(throws: Base64Error.illegalCharacter) { try Base64.decode("+_+/", alphabet: .either) }
    }

    static let refused: [(String, Base64Error)] = [
        ("Zg", .illegalPadding), ("Zg=", .illegalPadding), ("Zg===", .illegalPadding), ("Zm9v=", .illegalPadding),
        ("Z", .illegalLength), ("Zh==", .trailingBits), ("Zm9=", .trailingBits), ("Zm 9v", .illegalLength),
        ("Zm9v\n", .illegalLength), ("Zm\n9", .illegalCharacter), ("=", .illegalPadding),
        ("Zg==Zg==", .illegalCharacter),
        ("Zm9é", .illegalLength), ("Zg%3D%3D", .illegalCharacter),
    ]

    @Test(arguments: refused)
    func `a text that two decoders would read apart is refused`(text: String, error: Base64Error) {
        #expect(throws: error) { try Base64.decode(text) }
    }

    @Test func `padding can be forbidden, and length bounded`() {
        #expect(throws: Base64Error.illegalPadding) { try Base64.decode("Zg==", padding: .forbidden) }
        #expect(throws: Base64Error.tooLong) { try Base64.decode("Zm9vYmFy", limit: 7) }
    }
}

@Suite struct HexTests {
    @Test func `pairs of digits of either case`() throws {
        #expect(try Hex.decode("00fFA5") == [0, 255, 165])
        #expect(Hex.encode([0, 255, 165]) == "00ffa5")
        #expect(throws: HexError.oddLength) { try Hex.decode("0") }
        #expect(throws: HexError.illegalCharacter) { try Hex.decode("0x") }
        #expect(throws: HexError.illegalCharacter) { try Hex.decode("0:") }
    }
}

@Suite struct PEMTests {
    @Test func `blocks are read among comments, and written as read`() throws {
        let block = PEMBlock(label: "TEST", bytes: [UInt8](repeating: 7, count: 100))
        let text = "a comment\r\n" + block.text + "another\n" + PEMBlock(label: "OTHER", bytes: []).text
        #expect(try PEM.blocks(in: text) == [block, PEMBlock(label: "OTHER", bytes: [])])
        #expect(try PEM.blocks(in: text.split(separator: "\n").joined(separator: "\r\n")).count == 2)
        #expect(try PEM.blocks(in: "nothing") == [])
    }

    @Test func `a block that does not end, ends as another or holds no base64 is refused`() {
        #expect(throws: PEMError.unterminated) { try PEM.blocks(in: "-----BEGIN A-----\nZg==\n") }
        #expect(throws: PEMError.unterminated) {
            try PEM.blocks(in: "-----BEGIN A-----\nZg==\n-----END B-----\n")
        }
        #expect(throws: PEMError.malformedBody) {
            try PEM.blocks(in: "-----BEGIN A-----\nZ!==\n-----END A-----\n")
        }
    }
}

@Suite struct InternetTimeTests {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00.000Z", 0), ("2026-10-19T14:02:00.042Z", 1_792_418_520_042),
            ("1969-12-31T23:59:59.999Z", -1), ("2000-02-29T12:00:00.000Z", 951_825_600_000),
        ] as [(String, Int64)]
    )
    func `text and milliseconds are one to one`(text: String, milliseconds: Int64) {
        #expect(InternetTime.milliseconds(of: text) == milliseconds)
        #expect(InternetTime.text(milliseconds: milliseconds) == text)
    }

    @Test func `fractions may be absent or of any length`() {
        #expect(InternetTime.milliseconds(of: "1970-01-01T00:00:01Z") == 1_000)
        #expect(InternetTime.milliseconds(of: "1970-01-01T00:00:01.5Z") == 1_500)
        #expect(InternetTime.milliseconds(of: "1970-01-01T00:00:01.123456789Z") == 1_123)
    }

    @Test(arguments: [
        "", "2026-10-19", "2026-10-19T14:02:00", "2026-10-19 14:02:00Z", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-10-19T24:00:00Z", "2026-10-19T14:60:00Z", "2026-10-19T14:02:00.Z", "2026-10-19T14:02:00+00:00",
        "2026-1a-19T14:02:00Z", "2026-10-19T14:02:00.12aZ",
    ])
    func `anything else is no time`(text: String) {
        #expect(InternetTime.milliseconds(of: text) == nil)
    }
}
