// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Testing

@Suite struct JSONReaderTests {
    static let accepted: [(String, JSONValue)] = [
        ("null", .null), (" true ", .bool(true)), ("\t\r\n[ ]", .array([])), ("{}", .object(JSONObject())),
        (#""a\u0062\n\"\\\/""#, .string("ab\n\"\\/")), (#""\ud83d\ude00""#, .string("😀")), ("\"é\"", .string("é")),
        (
            "[1,[2,[3]]]",
            .array([.number(JSONNumber(1)), .array([.number(JSONNumber(2)), .array([.number(JSONNumber(3))])])])
        ),
    ]

    @Test(arguments: accepted)
    func `a text has one value`(text: String, value: JSONValue) throws {
        #expect(try JSONValue(parsing: text) == value)
    }

    @Test func `numbers keep every digit`() throws {
        for text in ["0", "-0", "12", "1.50", "1e10", "-2.5E-3", "123456789012345678901234567890"] {
            #expect(try JSONValue(parsing: text) == .number(#require(try JSONValue(parsing: text).number)))
            #expect(try JSONValue(parsing: text).number?.text == text)
        }
        #expect(try JSONValue(parsing: "12").integer == 12)
        #expect(try JSONValue(parsing: "12.0").integer == nil)
        #expect(try JSONValue(parsing: "123456789012345678901234567890").integer == nil)
    }

    static let refused: [(String, JSONError.Code)] = [
        ("", .unexpectedEnd), ("nul", .unexpectedEnd), ("nulL", .unexpectedByte), ("[1,]", .unexpectedByte),
        ("{\"a\":1,}", .unexpectedByte), ("{a:1}", .unexpectedByte), ("{\"a\" 1}", .unexpectedByte),
        ("[1 2]", .unexpectedByte), ("01", .illegalNumber), ("-", .unexpectedEnd), ("1.", .illegalNumber),
        (".5", .unexpectedByte), ("1e", .illegalNumber), ("+1", .unexpectedByte), ("00", .illegalNumber),
        ("NaN", .unexpectedByte), ("\"a", .unexpectedEnd), ("\"\u{1}\"", .illegalText), (#""\x""#, .illegalEscape),
        (#""\ud800""#, .illegalEscape), (#""\udc00""#, .illegalEscape), (#""\ud800\u0041""#, .illegalEscape),
        (#""\u00g0""#, .illegalEscape), ("1 2", .trailingBytes), ("{\"a\":1,\"a\":2}", .duplicateName),
        (#"{"a":1,"\u0061":2}"#, .duplicateName), ("\u{FEFF}1", .unexpectedByte), ("[1}", .unexpectedByte),
        ("// c\n1", .unexpectedByte), ("'a'", .unexpectedByte),
    ]

    @Test(arguments: refused)
    func `what two readers would take apart is refused`(text: String, code: JSONError.Code) {
        #expect(throws: JSONError(code: code, offset: 0)) { try JSONValue(parsing: text) }
    }

    @Test(arguments: [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xc3]] as [[UInt8]])
    func `bytes that are not UTF-8 are refused`(bytes: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        #expect(throws: JSONError(code: .illegalText, offset: 0)) { try JSONValue(parsing: [quote] + bytes + [quote]) }
    }

    @Test func `names that look alike and are not the same bytes are two names`() throws {
        let value = try JSONValue(parsing: "{\"\u{e9}\":1,\"e\u{301}\":2}")
        #expect(value["\u{e9}"]?.integer == 1 && value["e\u{301}"]?.integer == 2)
    }

    @Test func `long objects still notice a name that comes twice`() {
        let members = (0..<100).map { "\"n\($0)\":\($0)" }.joined(separator: ",")
        #expect(throws: Never.self) { try JSONValue(parsing: "{\(members)}") }
        #expect(throws: JSONError(code: .duplicateName, offset: 0)) { try JSONValue(parsing: "{\(members),\"n17\":0}") }
    }

    @Test func `length, depth and count are bounded`() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        let limits = JSONLimits(bytes: 1_000, depth: 3, values: 5)
        #expect(throws: Never.self) { try JSONValue(parsing: nested(4), limits: limits) }
        #expect(throws: JSONError(code: .tooDeep, offset: 0)) { try JSONValue(parsing: nested(5), limits: limits) }
        #expect(throws: Never.self) { try JSONValue(parsing: "[1,2,3,4]", limits: limits) }
        #expect(throws: JSONError(code: .tooManyValues, offset: 0)) {
            try JSONValue(parsing: "[1,2,3,4,5]", limits: limits)
        }
        #expect(throws: JSONError(code: .tooLong, offset: 0)) {
            try JSONValue(parsing: String(repeating: " ", count: 1_001), limits: limits)
        }
    }
}

extension JSONValue {
    fileprivate var number: JSONNumber? {
        guard case .number(let number) = self else { return nil }
        return number
    }
}

@Suite struct JSONWriterTests {
    @Test func `what is written reads back, with everything that needs it escaped`() throws {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("text", "a\"b\\c\n\u{1}\u{7f}é😀")
        writer.member("none", nil as String?)
        writer.member("number", -5)
        writer.member("truth", false)
        writer.member("list", ["x", ""])
        writer.name("empty")
        writer.beginArray()
        writer.endArray()
        writer.name("null")
        writer.null()
        writer.endObject()
        #expect(
            writer.text
                == #"{"text":"a\"b\\c\n\u0001\u007fé😀","number":-5,"truth":false,"list":["x",""],"empty":[],"null":null}"#
        )
        let value = try JSONValue(parsing: writer.bytes)
        var again = JSONWriter()
        again.value(value)
        #expect(again.bytes == writer.bytes)
        #expect(value["text"]?.string == "a\"b\\c\n\u{1}\u{7f}é😀")
    }
}
