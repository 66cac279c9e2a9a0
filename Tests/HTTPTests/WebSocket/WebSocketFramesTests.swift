// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import HTTP

@Suite struct WebSocketFramesTests {
    /// A frame of `length` bytes, as RFC 6455 5.2 writes it.
    private func frame(_ opcode: UInt8, length: Int, isMasked: Bool = false, form: Int = 0) -> [UInt8] {
        let mask: UInt8 = isMasked ? 0x80 : 0
        var bytes: [UInt8] = [0x80 | opcode]
        switch (length, form) {
        case (0..<126, 0): bytes.append(mask | UInt8(length))
        case (0..<65_536, 0), (_, 2): bytes += [mask | 126, UInt8(length >> 8), UInt8(length & 0xff)]
        default:
            bytes.append(mask | 127)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: length >> shift))
            }
        }
        if isMasked { bytes += [1, 2, 3, 4] }
        return bytes + [UInt8](repeating: 0x88, count: length)
    }

    private func boundaries(_ bytes: [UInt8], chunk: Int) -> [Int] {
        var frames = WebSocketFrames()
        var found: [Int] = []
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + chunk)
            frames.advance(bytes.span.extracting(start..<end))
            if frames.isAtBoundary { found.append(end) }
            start = end
        }
        return found
    }

    @Test(arguments: [0, 1, 125, 126, 127, 65_535, 65_536, 70_000], [false, true])
    func `a frame ends where its length says, byte by byte and at once`(length: Int, isMasked: Bool) {
        let one = frame(2, length: length, isMasked: isMasked)
        #expect(boundaries(one + one, chunk: 1) == [one.count, 2 * one.count])
        #expect(boundaries(one + one, chunk: 2 * one.count) == [2 * one.count])
        #expect(boundaries(Array(one.dropLast()), chunk: 1).isEmpty)
    }

    @Test func `a length in a longer form than it needs is followed too`() {
        let one = frame(1, length: 5, form: 2) + frame(1, length: 5, form: 8)
        #expect(boundaries(one, chunk: one.count) == [one.count])
    }

    @Test func `what belongs to the frame under way is told from what follows`() {
        var frames = WebSocketFrames()
        let one = frame(2, length: 10)
        frames.advance(one.span.extracting(0..<4))
        #expect(!frames.isAtBoundary)
        let rest = Array(one[4...]) + one
        #expect(frames.advanceToBoundary(rest.span) == one.count - 4)
        #expect(frames.isAtBoundary)
        #expect(frames.advanceToBoundary(rest.span) == 0)
    }

    @Test func `a close frame of the peer is seen when it is whole`() {
        var frames = WebSocketFrames()
        let close = frame(8, length: 2)
        frames.advance(close.span.extracting(0..<3))
        #expect(!frames.hasClosed)
        frames.advance(close.span.extracting(3..<4))
        #expect(frames.hasClosed)
        var others = WebSocketFrames()
        others.advance(frame(1, length: 8).span)
        #expect(!others.hasClosed)
    }

    @Test func `a length beyond all memory traps nobody`() {
        var frames = WebSocketFrames()
        let head: [UInt8] = [0x82, 0x7f] + [UInt8](repeating: 0xff, count: 8)
        frames.advance(head.span)
        frames.advance([UInt8](repeating: 0, count: 1_000).span)
        #expect(!frames.isAtBoundary)
    }

    @Test func `our close frame has code and reason, unmasked, and at most 125 bytes`() {
        #expect(WebSocketFrames.close(code: 4401, reason: "ab") == [0x88, 4, 0x11, 0x31, 0x61, 0x62])
        let long = WebSocketFrames.close(code: 4401, reason: String(repeating: "x", count: 500))
        #expect(long.count == 127)
        #expect(boundaries(long, chunk: long.count) == [long.count])
    }
}
