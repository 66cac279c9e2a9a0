// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Testing

@Suite struct CBORReaderTests {
    // RFC 8949 appendix A, those of its values that proofs use.
    static let values: [(String, CBORValue)] = [
        ("00", .unsigned(0)), ("17", .unsigned(23)), ("1818", .unsigned(24)), ("1903e8", .unsigned(1_000)),
        ("1a000f4240", .unsigned(1_000_000)), ("1bffffffffffffffff", .unsigned(.max)), ("20", .integer(-1)),
        ("3903e7", .integer(-1_000)), ("3bffffffffffffffff", .negative(.max)), ("f4", .bool(false)),
        ("f6", .null), ("40", .bytes([])), ("4401020304", .bytes([1, 2, 3, 4])), ("6449455446", .text("IETF")),
        ("62c3bc", .text("ü")), ("80", .array([])), ("83010203", .array([.unsigned(1), .unsigned(2), .unsigned(3)])),
        ("a201020304", .map([.init(.unsigned(1), .unsigned(2)), .init(.unsigned(3), .unsigned(4))])),
    ]

    @Test(arguments: values)
    func `bytes and values are one to one`(hex: String, value: CBORValue) throws {
        let bytes = try Hex.decode(hex)
        #expect(try CBORReader.value(of: bytes) == value)
        #expect(value.encoded == bytes)
    }

    static let refused: [(String, CBORError)] = [
        ("", .unexpectedEnd), ("18", .unexpectedEnd), ("4401", .unexpectedEnd), ("8201", .unexpectedEnd),
        ("1817", .nonMinimal), ("190018", .nonMinimal), ("1a0000ffff", .nonMinimal),
        ("1b00000000ffffffff", .nonMinimal),
        ("5801ff", .nonMinimal), ("9f01ff", .indefiniteLength), ("5f4101ff", .indefiniteLength),
        ("ff", .indefiniteLength),
        ("1c", .indefiniteLength), ("c000", .unsupported), ("f97c00", .unsupported), ("f7", .unsupported),
        ("f818", .unsupported), ("61ff", .illegalText), ("0000", .trailingBytes), ("a200000001", .duplicateKey),
        ("a2616101616102", .duplicateKey), ("9bffffffffffffffff", .unexpectedEnd),
        ("5bffffffffffffffff", .unexpectedEnd),
        ("bbffffffffffffffff", .unexpectedEnd), ("818181818181818100", .tooDeep),
    ]

    @Test(arguments: refused)
    func `every other form is refused`(hex: String, error: CBORError) throws {
        let bytes = try Hex.decode(hex)
        #expect(throws: error) { try CBORReader.value(of: bytes) }
    }

    @Test func `items are counted`() {
        let many = [0x99, 0x04, 0x00] + [UInt8](repeating: 0, count: 1_024)
        #expect(throws: CBORError.tooManyItems) { try CBORReader.value(of: many) }
    }

    @Test func `one item after the other can be read from one buffer`() throws {
        var reader = CBORReader([0xff, 0x01, 0x41, 0x02], from: 1)
        #expect(try reader.next() == .unsigned(1) && reader.position == 2)
        #expect(try reader.next() == .bytes([2]) && reader.isAtEnd)
        #expect(throws: CBORError.unexpectedEnd) { try reader.next() }
    }
}

@Suite struct DERCursorTests {
    @Test func `elements are walked, skipped and finished`() throws {
        let bytes = DERWriter.sequence(
            DERWriter.integer(300),
            DERWriter.explicit(704, DERWriter.boolean(true)),
            DERWriter.octets([UInt8](repeating: 1, count: 200))
        )
        var fields = try DERCursor.only(.sequence, in: bytes).cursor
        #expect(try fields.read(.integer).integer() == 300)
        #expect(try fields.readIf(.explicit(703)) == nil)
        var wrapped = try #require(try fields.readIf(.explicit(704))).cursor
        #expect(try wrapped.read(.boolean).booleanTolerant())
        #expect(throws: DERError.trailingBytes) { try fields.finish() }
        #expect(try fields.next().bytes.count == 200)
        #expect(throws: Never.self) { try fields.finish() }
        #expect(throws: DERError.unexpectedEnd) { try fields.next() }
    }

    static let refused: [(String, DERError)] = [
        ("30", .unexpectedEnd), ("3001", .unexpectedEnd), ("3080", .illegalLength), ("308100", .illegalLength),
        ("30817f", .illegalLength), ("30820080", .illegalLength), ("308500000000ff", .illegalLength),
        ("3084ffffffff", .unexpectedEnd), ("30000000", .trailingBytes), ("0400", .unexpectedElement),
        ("bf8000", .illegalTag), ("bf1e00", .illegalTag), ("bfffffffffffffffff7f00", .illegalTag),
    ]

    @Test(arguments: refused)
    func `every other form is refused`(hex: String, error: DERError) throws {
        let bytes = try Hex.decode(hex)
        #expect(throws: error) { try DERCursor.only(.sequence, in: bytes) }
    }

    static let numbers: [(String, Int?)] = [
        ("020100", 0), ("02017f", 127), ("02020080", 128), ("0201ff", -1), ("020180", -128), ("0202ff7f", -129),
        ("0a0107", 7), ("0200", nil), ("02020001", nil), ("0202ffff", nil), ("0209010000000000000000", nil),
    ]

    @Test(arguments: numbers)
    func `numbers have one form`(hex: String, value: Int?) throws {
        var cursor = DERCursor(try Hex.decode(hex))
        let element = try cursor.next()
        if let value {
            #expect(try element.integer() == value)
        } else {
            #expect(throws: DERError.illegalValue) { try element.integer() }
        }
    }

    static let times: [(String, Int64?)] = [
        ("700101000000Z", 0), ("491231235959Z", 2_524_607_999), ("500101000000Z", -631_152_000),
        ("19700101000001Z", 1), ("21060207062815Z", 4_294_967_295), ("7001010000Z", nil), ("700101000000", nil),
        ("700101000000+0000", nil), ("700230000000Z", nil), ("701301000000Z", nil), ("700101240000Z", nil),
        ("19700101000001.5Z", nil),
    ]

    @Test(arguments: times)
    func `times are those of RFC 5280`(text: String, seconds: Int64?) throws {
        let tag: DERTag =
            text.utf8.count > 13 && text.hasPrefix("19700101") || text.hasPrefix("21") ? .generalizedTime : .utcTime
        var cursor = DERCursor(DERWriter.element(tag, Array(text.utf8)))
        let element = try cursor.next()
        if let seconds {
            #expect(try element.seconds() == seconds)
            #expect(tag == .generalizedTime || DERWriter.time(seconds) == element.encoded)
        } else {
            #expect(throws: DERError.illegalValue) { try element.seconds() }
        }
    }

    @Test func `truth is any byte but 0`() throws {
        func element(_ byte: UInt8) throws -> DERElement {
            var cursor = DERCursor([1, 1, byte])
            return try cursor.next()
        }
        #expect(try element(255).booleanTolerant() && !element(0).booleanTolerant())
        #expect(try element(1).booleanTolerant())
    }

    @Test func `identifiers are complete and shortest`() throws {
        let key = OID(1, 3, 6, 1, 4, 1, 11_129, 2, 1, 17)
        #expect(Hex.encode(DERWriter.identifier(key)) == "060a2b06010401d679020111")
        var cursor = DERCursor(DERWriter.identifier(key))
        #expect(try cursor.next().identifier() == key)
        for hex in ["0600", "060180", "06032a8001", "06022a81"] {
            var cursor = DERCursor(try Hex.decode(hex))
            let element = try cursor.next()
            #expect(throws: DERError.illegalValue) { try element.identifier() }
        }
    }
}
