// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import HTTP

@Suite
struct FrameProgressTests {
    /// What the bytes leave behind, taken whole and one by one.
    static func ends(_ bytes: [UInt8]) -> [(isInsideBlock: Bool, isInsideFrame: Bool)] {
        var whole = FrameProgress(isServer: true, continuations: 8)
        var at = 0
        while at < bytes.count { at = whole.advance(bytes.span, from: at) }
        var pieces = FrameProgress(isServer: true, continuations: 8)
        for index in bytes.indices { _ = pieces.advance(bytes.span.extracting(index..<index + 1)) }
        return [whole, pieces].map { ($0.isInsideBlock, $0.isInsideFrame) }
    }

    static let head = FrameBytes.headers(FrameBytes.get)
    static let opened = FrameBytes.frame(1, flags: 1, stream: 1, FrameBytes.block(FrameBytes.get))

    @Test(arguments: [
        [], head, opened + FrameBytes.frame(9, flags: 4, stream: 1, [0x82]),
        head + FrameBytes.frame(0, flags: 1, stream: 1),
        opened + FrameBytes.frame(9, stream: 1) + FrameBytes.frame(9, flags: 4, stream: 1),
        FrameBytes.frame(0xfa, flags: 0xff, [1, 2]),
    ])
    func `after whole frames nothing is open`(_ bytes: [UInt8]) {
        for end in Self.ends(FrameBytes.start + bytes) { #expect(end == (false, false)) }
    }

    @Test(arguments: [opened, opened + FrameBytes.frame(9, stream: 1), Array(head.dropLast()), Array(head.prefix(9))])
    func `a header block without its end is open`(_ bytes: [UInt8]) {
        for end in Self.ends(FrameBytes.start + bytes) { #expect(end == (true, true)) }
    }

    @Test(arguments: [Array(FrameBytes.frame(6, Array(repeating: 0, count: 8)).dropLast()), [0], Array(head.prefix(8))])
    func `half a frame is open, and is no header block`(_ bytes: [UInt8]) {
        for end in Self.ends(FrameBytes.start + bytes) { #expect(end == (false, true)) }
        for end in Self.ends(Array(FrameBytes.preface.dropLast())) { #expect(end == (false, true)) }
    }

    @Test
    func `frames that continue a stream are stopped at`() {
        let data = FrameBytes.frame(0, stream: 1, [1, 2, 3]) + FrameBytes.frame(0, stream: 0x0102_0304)
        let bytes = FrameBytes.start + Self.head + data + Self.head
        var progress = FrameProgress(isServer: true, continuations: 8)
        var at = progress.advance(bytes.span)
        #expect(progress.continued == 1 && bytes[at] == 1)
        at = progress.advance(bytes.span, from: at)
        #expect(progress.continued == 0x0102_0304 && at == bytes.count - Self.head.count)
        at = progress.advance(bytes.span, from: at)
        #expect(progress.continued == 1 && at == bytes.count - Self.head.count + 9)
        #expect(progress.advance(bytes.span, from: at) == bytes.count && progress.continued == nil)
    }

    @Test
    func `so much work at a time is taken, in whole frames`() throws {
        let session = try #require(HTTP2Session(.server))
        var bytes = FrameBytes.start
        for id in stride(from: 1, through: 39, by: 2) { bytes += FrameBytes.headers(FrameBytes.get, stream: id) }
        var taken: [Int] = []
        var heads: [Int] = []
        var at = 0
        while at < bytes.count {
            let count = try session.receive(bytes.span.extracting(at..<bytes.count), now: 1, work: 256)
            at += count
            taken.append(count)
            var number = 0
            while let event = session.nextEvent() { if case .head = event { number += 1 } }
            heads.append(number)
        }
        #expect(heads.reduce(0, +) == 20)
        #expect(heads.allSatisfy { $0 <= 4 } && heads.count >= 5)
        #expect(at == bytes.count)
    }

    @Test
    func `the time at which a block began is kept until it ends`() throws {
        let session = try #require(HTTP2Session(.server))
        let head = Self.head
        let start = FrameBytes.start
        try session.receive(start.span, now: 5)
        #expect(session.blockBeganAt == nil)
        for (part, now, expected) in [(0..<12, 7, 7), (12..<15, 9, 7), (15..<head.count, 11, nil)]
            as [(Range<Int>, UInt64, UInt64?)]
        {
            try session.receive(head.span.extracting(part), now: now)
            #expect(session.blockBeganAt == expected)
        }
    }
}
