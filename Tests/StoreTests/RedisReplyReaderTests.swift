// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Telemetry
import Testing

@testable import Store

@Suite struct RedisReplyReaderTests {
    private let wire = "*4\r\n:42\r\n$5\r\nhe\r\no\r\n*2\r\n$-1\r\n+OK\r\n:-7\r\n-ERR no\r\n$0\r\n\r\n*-1\r\n"
    private let expected: [RedisReply] = [
        .array([.integer(42), .bytes(Array("he\r\no".utf8)), .array([.null, .status("OK")]), .integer(-7)]),
        .error("ERR no"), .bytes([]), .null,
    ]

    private func read(_ pieces: [[UInt8]]) throws -> [RedisReply] {
        let reader = RedisReplyReader()
        var replies: [RedisReply] = []
        for piece in pieces {
            try reader.feed(piece.span)
            while try reader.next() {
                replies.append(reader.tape.value())
                reader.discard()
            }
        }
        return replies
    }

    @Test func `replies are the same however the bytes are cut`() throws {
        let bytes = Array(wire.utf8)
        #expect(try read([bytes]) == expected)
        #expect(try read(bytes.map { [$0] }) == expected)
        for cut in 1..<bytes.count {
            #expect(try read([Array(bytes[..<cut]), Array(bytes[cut...])]) == expected)
        }
    }

    @Test func `a tape lends integers and strings where they lie`() throws {
        let reader = RedisReplyReader()
        try reader.feed(Array(wire.utf8).span)
        #expect(try reader.next())
        #expect(reader.tape.integer(at: 1) == 42)
        #expect(reader.tape.integer(at: 2) == nil)
        #expect(reader.tape.integer(at: 99) == nil)
        #expect(reader.tape.withBytes(at: 2) { $0.count } == 5)
        #expect(reader.tape.withBytes(at: 99) { $0.count } == 0)
        #expect(reader.tape.error == nil)
    }

    @Test(arguments: ["?\r\n", "*-2\r\n", "*2000000\r\n", ":12a\r\n", "HTTP/1.1 400 Bad Request\r\n"])
    func `what is not RESP is a failure`(text: String) {
        #expect(throws: StoreError.malformed("")) { try read([Array(text.utf8)]) }
    }

    @Test func `commands are arrays of bulk strings`() {
        var buffer = ByteBuffer()
        buffer.beginCommand(arguments: 3)
        buffer.appendArgument(utf8: "SET")
        buffer.appendArgument(Array("k\r\n".utf8).span)
        buffer.appendArgument(decimal: -1_000)
        var text: [UInt8] = []
        for index in 0..<buffer.count { text.append(buffer.bytes[index]) }
        #expect(String(decoding: text, as: UTF8.self) == "*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$5\r\n-1000\r\n")
    }
}

@Suite struct RedisEndpointTests {
    @Test func `a password prints as dots`() {
        let endpoint = RedisEndpoint(address: .unix(path: "/s"), user: "u", password: Secret("hunter2"))
        #expect(!"\(endpoint)".contains("hunter2"))
        #expect(!String(reflecting: endpoint).contains("hunter2"))
    }
}
