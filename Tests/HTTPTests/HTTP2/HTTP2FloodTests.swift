// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Testing

@Suite
struct HTTP2FloodTests {
    static func repeated(_ count: Int, _ frame: (Int) -> [UInt8]) -> [UInt8] {
        var bytes = FrameBytes.start
        for index in 0..<count { bytes += frame(index) }
        return bytes
    }

    static func expect(
        _ kind: HTTP2Flood,
        _ bytes: [UInt8],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let server = try RawServer(bytes)
        #expect(server.failure == .flood(kind), sourceLocation: sourceLocation)
        #expect(server.endings.last == "goaway 11", sourceLocation: sourceLocation)
    }

    @Test
    func `streams opened and reset without end are cut off`() throws {
        let attack = { (index: Int) in
            FrameBytes.headers(FrameBytes.get, stream: 2 * index + 1)
                + FrameBytes.frame(3, stream: 2 * index + 1, [0, 0, 0, 8])
        }
        try Self.expect(.resets, Self.repeated(201, attack))
        #expect(try RawServer(Self.repeated(200, attack)).failure == nil)
    }

    @Test
    func `resets that we are provoked into count too`() throws {
        // A window grown beyond 2^31-1 on an open stream is a stream error.
        let attack = { (index: Int) in
            FrameBytes.headers(FrameBytes.get, stream: 2 * index + 1)
                + FrameBytes.frame(8, stream: 2 * index + 1, [127, 255, 255, 255])
        }
        try Self.expect(.provokedResets, Self.repeated(40, attack))
        #expect(try RawServer(Self.repeated(15, attack)).failure == nil)
    }

    @Test
    func `control frames without end are cut off`() throws {
        try Self.expect(.settings, Self.repeated(30) { _ in FrameBytes.settings })
        try Self.expect(.pings, Self.repeated(110) { _ in FrameBytes.frame(6, [UInt8](repeating: 0, count: 8)) })
        try Self.expect(.otherFrames, Self.repeated(1100) { _ in FrameBytes.frame(2, stream: 1, [0, 0, 0, 0, 1]) })
        try Self.expect(.otherFrames, Self.repeated(1100) { _ in FrameBytes.frame(0x4f, [1]) })
        try Self.expect(.windowUpdates, Self.repeated(21_000) { _ in FrameBytes.frame(8, [0, 0, 0, 1]) })
    }

    @Test
    func `frames without content are cut off`() throws {
        let post = FrameBytes.headers([(":method", "POST")] + FrameBytes.get.dropFirst(), ends: false)
        let bytes = Self.repeated(60) { index in index == 0 ? post : FrameBytes.frame(0, stream: 1) }
        try Self.expect(.emptyFrames, bytes)
    }

    @Test
    func `a header block in endless pieces is cut off`() throws {
        let first = FrameBytes.frame(1, flags: 1, stream: 1, FrameBytes.block(FrameBytes.get))
        let bytes = Self.repeated(30) { index in
            index == 0 ? first : FrameBytes.frame(9, stream: 1, FrameBytes.block([("x", "y")]))
        }
        try Self.expect(.continuations, bytes)
    }

    @Test(arguments: [8: nil, 9: HTTP2Failure.flood(.continuations)] as [Int: HTTP2Failure?])
    func `the pieces of a header block are counted as frames, in however many bytes they come`(
        count: Int,
        failure: HTTP2Failure?
    ) throws {
        let server = try #require(HTTP2Session(.server))
        var bytes = FrameBytes.start + FrameBytes.frame(1, flags: 1, stream: 1, FrameBytes.block(FrameBytes.get))
        for index in 1...count {
            bytes += FrameBytes.frame(9, flags: index == count ? 4 : 0, stream: 1, FrameBytes.block([("x", "y")]))
        }
        var met: HTTP2Failure?
        for index in bytes.indices where met == nil {
            do throws(HTTP2Failure) { try server.receive(bytes.span.extracting(index..<index + 1), now: 0) } catch {
                met = error
            }
        }
        #expect(met == failure)
        var heads = 0
        while let event = server.nextEvent() { if case .head = event { heads += 1 } }
        #expect(heads == (failure == nil ? 1 : 0))
    }

    @Test
    func `a header block that unfolds a thousandfold is cut off`() throws {
        // One indexed value of 3,900 bytes, then one byte for each repetition.
        let long = String(repeating: "a", count: 3900)
        var block = FrameBytes.block(FrameBytes.get)
        block += [0x40] + FrameBytes.block([("x", long)]).dropFirst()
        block += [UInt8](repeating: 0xbe, count: 12_000)
        try Self.expect(.largeHeaders, FrameBytes.start + FrameBytes.frame(1, flags: 5, stream: 1, block))
    }

    /// How many windows of `length` bytes a server gave bytes for before it had enough; nil: it never had.
    private static func windows(of length: Int, rounds: Int) throws -> Int? {
        let server = try #require(HTTP2Session(.server))
        let small = FrameBytes.frame(4, [0, 4] + FrameBytes.big(length))
        try server.receive((FrameBytes.start + small + FrameBytes.headers(FrameBytes.get)).span, now: 0)
        let none = FieldTable()
        while let event = server.nextEvent() {
            guard case .head(let stream) = event else { continue }
            server.respond(stream, status: 200, fields: none, skipping: [], adding: [UInt8]().span, hasBody: true)
            server.write([UInt8](repeating: 0, count: 65_000).span, to: stream)
        }
        var sent = ByteBuffer()
        for round in 0..<rounds {
            do throws(HTTP2Failure) {
                try server.send(into: &sent, limit: 1 << 20)
                try server.receive(FrameBytes.frame(8, stream: 1, FrameBytes.big(length)).span, now: 0)
            } catch {
                #expect(error == .flood(.tinyWindows))
                return round
            }
        }
        return nil
    }

    @Test
    func `windows of a few bytes are cut off, larger ones are not`() throws {
        #expect(try Self.windows(of: 1, rounds: 250) == 200)
        #expect(try Self.windows(of: 255, rounds: 250) == 200)
        #expect(try Self.windows(of: 256, rounds: 250) == nil)
    }

    @Test
    func `a budget refills with time and never holds more than its burst`() {
        var budget = FloodBudget(burst: 3, perSecond: 10)
        #expect((0..<4).map { _ in budget.spend(now: 1000) } == [true, true, true, false])
        #expect((0..<2).map { _ in budget.spend(now: 100_001_000) } == [true, false])
        #expect((0..<4).map { _ in budget.spend(now: 90_000_000_000) } == [true, true, true, false])
    }

    @Test
    func `what is not HTTP_2 ends the connection`() throws {
        #expect(try RawServer(latin1("GET / HTTP/1.1\r\nHost: a\r\n\r\n")).failure == .broken)
        let server = try RawServer(FrameBytes.preface + FrameBytes.frame(0, stream: 1, [1]))
        #expect(server.endings == ["goaway 1"])
        #expect(server.isOver)
    }

    @Test
    func `random frames never trap, and every cut ends the same`() throws {
        var random = Seeded(state: 21)
        for round in 0..<3000 {
            var bytes = FrameBytes.start + FrameBytes.headers(FrameBytes.get, stream: 1, ends: false)
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                let payload = (0..<Int.random(in: 0...20, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                bytes += FrameBytes.frame(
                    UInt8.random(in: 0...10, using: &random),
                    flags: [0, 1, 4, 5, 8, 0x2d].randomElement(using: &random) ?? 0,
                    stream: Int.random(in: 0...5, using: &random),
                    payload
                )
            }
            let whole = try RawServer(bytes)
            guard round % 5 == 0 else { continue }
            let cut = try RawServer(bytes, piece: Int.random(in: 1...30, using: &random))
            #expect(cut.events.filter { !$0.hasPrefix("data") } == whole.events.filter { !$0.hasPrefix("data") })
        }
    }
}
