// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Testing

@Suite
struct RequestParserTests {
    @Test(
        arguments: [
            ("HTTP/1.2", .versionNotSupported), ("HTTP/2.0", .versionNotSupported), ("HTTP/0.9", .versionNotSupported),
            ("http/1.1", .malformedVersion), ("HTTP/1.", .malformedVersion), ("HTTP/11", .malformedVersion),
            ("X", .malformedVersion),
            ("HTTP/1.1 ", .malformedVersion), ("HTTP/1.11", .malformedVersion),
        ] as [(String, HTTPViolation)]
    )
    func `other versions are told from nonsense`(_ version: String, _ expected: HTTPViolation) {
        #expect(violation("GET / \(version)\r\nHost: a\r\n\r\n") == expected)
    }

    @Test
    func `the prefaces of HTTP_2 and TLS are refused at once`() {
        #expect(violation("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == .versionNotSupported)
        #expect(violation("\u{16}\u{3}\u{1}") == .malformedMethod)
    }

    @Test
    func `one empty line is forgiven, two are not`() {
        #expect(violation("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n") == nil)
        #expect(violation("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n") == .tooManyEmptyLines)
        #expect(violation("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n") == .bareLineFeed)
    }

    @Test
    func `each limit has its own violation, and one less passes`() {
        let room = ParserLimits().startLine - "GET / HTTP/1.1".utf8.count
        let path = String(repeating: "a", count: room)
        #expect(violation("GET /\(path) HTTP/1.1\r\nHost: a\r\n\r\n") == nil)
        #expect(violation("GET /\(path)a HTTP/1.1\r\nHost: a\r\n\r\n") == .startLineTooLong)
        #expect(violation(String(repeating: "M", count: 9000)) == .startLineTooLong)
        let fields = [String](repeating: "a: b", count: 99).joined(separator: "\r\n")
        #expect(violation(get(fields)) == nil)
        #expect(violation(get(fields, "a: b")) == .tooManyFields)
        let value = String(repeating: "b", count: ParserLimits().fieldBytes - "Host: a.test\r\nX: \r\n\r\n".utf8.count)
        #expect(violation(get("X: \(value)")) == nil)
        #expect(violation(get("X: \(value)b")) == .fieldsTooLarge)
        #expect(HTTPViolation.startLineTooLong.status == 414)
        #expect(HTTPViolation.tooManyFields.status == 431)
        #expect(HTTPViolation.fieldsTooLarge.status == 431)
    }

    @Test
    func `a field that never ends is refused before its end`() {
        #expect(violation("GET / HTTP/1.1\r\nX: " + String(repeating: "b", count: 40_000)) == .fieldsTooLarge)
        #expect(violation("GET / HTTP/1.1\r\n" + String(repeating: "b", count: 40_000)) == .fieldsTooLarge)
    }

    @Test
    func `values are cut of blanks around, never inside`() throws {
        #expect(
            try parsed(get("A:b", "B: \t b\t c \t", "C:", "D: \u{ff}\u{80}")).lines.dropFirst() == [
                "A: b", "B: b\t c", "C: ", "D: \u{fffd}\u{fffd}",
            ]
        )
    }

    @Test(arguments: Array(0...255) as [UInt8])
    func `a byte in a value is taken or refused by its class`(_ byte: UInt8) {
        for padding in 0..<9 {
            let before = [UInt8](repeating: 0x78, count: padding)
            let bytes = latin1("GET / HTTP/1.1\r\nHost: a\r\nX: ") + before + [byte] + latin1("yyyyyyyyyy\r\n\r\n")
            let isAllowed = byte == 9 || byte >= 0x20 && byte != 0x7f
            #expect((Transcript(requests: bytes).violation == nil) == isAllowed)
        }
    }

    @Test(arguments: Array(0...255) as [UInt8])
    func `a byte in a target is taken or refused by its class`(_ byte: UInt8) {
        for padding in 0..<9 where byte != 0x20 {
            let before = [UInt8](repeating: 0x78, count: padding)
            let bytes = latin1("GET /") + before + [byte] + latin1("yyyyyyyyyy HTTP/1.1\r\nHost: a\r\n\r\n")
            let isAllowed = byte > 0x20 && byte < 0x7f && byte != 0x23
            #expect((Transcript(requests: bytes).violation == nil) == isAllowed)
        }
    }

    @Test(arguments: Array(0...255) as [UInt8])
    func `a byte in a name is taken or refused by its class`(_ byte: UInt8) {
        guard byte != 0x3a else { return }
        let bytes = latin1("GET / HTTP/1.1\r\nHost: a\r\nX") + [byte] + latin1("Y: z\r\n\r\n")
        let token = Array("!#$%&'*+-.^_`|~".utf8)
        let isAllowed =
            token.contains(byte) || byte >= 0x30 && byte <= 0x39 || byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7a
        #expect((Transcript(requests: bytes).violation == nil) == (isAllowed && byte < 0x80))
    }

    @Test
    func `random changes to good requests never trap, and every cut reads the same`() {
        var random = Seeded(state: 11)
        let seeds = ConformanceCase.all.map(\.raw).filter { $0.count < 600 && !$0.isEmpty }
        for round in 0..<100_000 {
            var bytes = seeds[Int.random(in: 0..<seeds.count, using: &random)]
            for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: at)
                case 2:
                    bytes.insert(contentsOf: [0x0d, 0x0a, 0x20, 0x3a, 0x30].shuffled(using: &random).prefix(2), at: at)
                default: bytes.removeSubrange(at..<min(at + 9, bytes.count))
                }
            }
            let whole = Transcript(requests: bytes)
            let answers = Transcript(responses: bytes)
            guard round % 4 == 0 else { continue }
            let cuts = (0..<4).map { _ in Int.random(in: 1...60, using: &random) }
            #expect(Transcript(requests: bytes, cuts: cuts) == whole, "\(bytes)")
            #expect(Transcript(responses: bytes, cuts: cuts) == answers, "\(bytes)")
        }
    }

    @Test func `every byte at every place of a name is judged alike`() {
        let marks = Set("!#$%&'*+-.^_`|~".utf8)
        for byte in UInt8(0)...255 where byte != UInt8(ascii: ":") {
            let character = Character(Unicode.Scalar(byte))
            let isToken = marks.contains(byte) || character.isASCII && (character.isLetter || character.isNumber)
            for place in 0..<17 {
                var name = [Character](repeating: "n", count: 17)
                name[place] = character
                #expect((violation(get(String(name) + ": v")) == nil) == isToken, "\(byte) at \(place)")
            }
        }
    }
}
