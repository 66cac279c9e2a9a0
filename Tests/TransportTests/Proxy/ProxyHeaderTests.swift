// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing
import Transport

@Suite struct ProxyHeaderTests {
    static let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]

    static func binary(_ command: UInt8, _ family: UInt8, _ block: [UInt8]) -> [UInt8] {
        signature + [command, family, UInt8(block.count >> 8), UInt8(block.count & 255)] + block
    }

    static let v4: [UInt8] = [192, 0, 2, 7, 203, 0, 113, 1, 0xd4, 0x31, 0x01, 0xbb]
    static let v6: [UInt8] =
        [0x20, 1, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [9] + [UInt8](repeating: 0, count: 15) + [
            1, 0x1f, 0x90, 0, 80,
        ]

    static func read(_ bytes: [UInt8]) throws(ProxyFailure) -> ProxyHeader.Progress {
        try ProxyHeader.read(bytes.span)
    }

    static func failure(_ bytes: [UInt8]) -> ProxyFailure? {
        do throws(ProxyFailure) {
            _ = try read(bytes)
            return nil
        } catch { return error }
    }

    @Test(arguments: [
        ("PROXY TCP4 192.0.2.7 203.0.113.1 54321 443\r\n", "192.0.2.7:54321"),
        ("PROXY TCP6 2001:db8::9 ::1 8080 80\r\n", "[2001:db8::9]:8080"),
        ("PROXY TCP6 ::ffff:192.0.2.7 ::1 8080 80\r\n", "192.0.2.7:8080"),
        ("PROXY UNKNOWN\r\n", ""), ("PROXY UNKNOWN whatever it is\r\n", ""),
    ])
    func `a line of version 1 names the client`(line: String, client: String) throws {
        let bytes = Array(line.utf8)
        let expected = ProxyHeader.Progress.header(
            ProxyHeader(client: SocketAddress(parsing: client)),
            length: bytes.count
        )
        #expect(try Self.read(bytes + Array("GET / HTTP/1.1".utf8)) == expected)
        for end in 0..<bytes.count { #expect(try Self.read(Array(bytes[..<end])) == .needMore) }
    }

    @Test(arguments: [
        "PROXY TCP4 192.0.2.7 203.0.113.1 54321\r\n", "PROXY TCP4 192.0.2.7 203.0.113.1 54321 443 \r\n",
        "PROXY TCP4  192.0.2.7 203.0.113.1 54321 443\r\n", "PROXY TCP4 192.0.2.300 203.0.113.1 54321 443\r\n",
        "PROXY TCP4 2001:db8::9 ::1 8080 80\r\n", "PROXY TCP6 192.0.2.7 203.0.113.1 54321 443\r\n",
        "PROXY TCP4 192.0.2.7 203.0.113.1 65536 443\r\n", "PROXY TCP4 192.0.2.7 203.0.113.1 054 443\r\n",
        "PROXY TCP4 192.0.2.7 203.0.113.1 +54 443\r\n", "PROXY UDP4 192.0.2.7 203.0.113.1 54321 443\r\n",
        "PROXY UNKNOWNX\r\n", "PROXY TCP4 192.0.2.7 203.0.113.1 54321 443\n", "PROXY \0TCP4\r\n", "PROXY UNKNOWN\rX",
    ])
    func `a line that differs is refused`(line: String) {
        #expect(Self.failure(Array(line.utf8) + [0]) == .malformed)
    }

    @Test func `a line may have 107 bytes and not 108`() throws {
        let line = "PROXY UNKNOWN " + String(repeating: "x", count: 91)
        #expect(try Self.read(Array((line + "\r\n").utf8)) == .header(ProxyHeader(client: nil), length: 107))
        #expect(Self.failure(Array((line + "x\r\n").utf8)) == .tooLong)
        #expect(Self.failure(Array((line + "xxx").utf8)) == .tooLong)
    }

    @Test(
        arguments: [
            (0x21, 0x11, v4, "192.0.2.7:54321"), (0x21, 0x21, v6, "[2001:db8::9]:8080"),
            (0x21, 0x11, v4 + [0x04, 0, 3, 1, 2, 3], "192.0.2.7:54321"), (0x20, 0x00, [], ""), (0x20, 0x11, v4, ""),
            (0x20, 0xff, [1, 2, 3], ""), (0x21, 0x00, [9, 9], ""), (0x21, 0x31, [UInt8](repeating: 0, count: 216), ""),
        ] as [(UInt8, UInt8, [UInt8], String)]
    )
    func `a block of version 2 names the client`(command: UInt8, family: UInt8, block: [UInt8], client: String) throws {
        let bytes = Self.binary(command, family, block)
        let expected = ProxyHeader.Progress.header(
            ProxyHeader(client: SocketAddress(parsing: client)),
            length: bytes.count
        )
        #expect(try Self.read(bytes + [0x16, 3, 1]) == expected)
        for end in 0..<bytes.count { #expect(try Self.read(Array(bytes[..<end])) == .needMore) }
    }

    @Test(
        arguments: [
            (0x21, 0x11, Array(v4.dropLast())), (0x21, 0x21, Array(v6.dropLast())), (0x22, 0x11, v4), (0x31, 0x11, v4),
            (0x11, 0x11, v4), (0x21, 0x12, v4), (0x21, 0x22, v6), (0x21, 0x41, v4), (0x21, 0x13, v4), (0x21, 0x31, v4),
        ] as [(UInt8, UInt8, [UInt8])]
    )
    func `a block that differs is refused`(command: UInt8, family: UInt8, block: [UInt8]) {
        #expect(Self.failure(Self.binary(command, family, block)) == .malformed)
    }

    @Test func `a block beyond the limit is refused before it is read`() {
        let most = UInt16(ProxyHeader.longest - 16)
        let head = Self.signature + [0x21, 0x11]
        #expect(Self.failure(head + [UInt8(most >> 8), UInt8(most & 255)]) == nil)
        #expect(Self.failure(head + [UInt8((most + 1) >> 8), UInt8((most + 1) & 255)]) == .tooLong)
        #expect(Self.failure(head + [255, 255]) == .tooLong)
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\n", "PROXY\t", "\r\n\r\nGET", "\u{16}\u{3}\u{1}", "proxy TCP4",
    ])
    func `other protocols are told at their first different byte`(text: String) throws {
        #expect(try Self.read(Array(text.utf8)) == .absent)
    }
}
