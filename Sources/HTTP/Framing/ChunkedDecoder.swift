// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// Reads a chunked body strictly, without copying it (RFC 9112 7.1).
///
/// Call `next` until it says `.needMore` or `.end`; after each answer take `consumed` bytes off the front. Chunk
/// extensions are checked and forgotten: they speak about one connection only.
package struct ChunkedDecoder: ~Copyable {
    /// What the front of the bytes is.
    package enum Part: Sendable, Equatable {
        /// Body bytes lie at `range`; then take `consumed` bytes off.
        case data(Range<Int>, consumed: Int)
        /// Take `consumed` bytes off and come back with more.
        case needMore(consumed: Int)
        /// The body is over and `trailers` is filled; take `consumed` bytes off.
        case end(consumed: Int)
    }

    private enum Phase {
        case line
        case data
        /// After the last byte of a chunk, before its CR.
        case carriageReturn
        case lineFeed
        case trailers
        case ended
    }

    private let limits: ParserLimits
    private var phase = Phase.line
    private var line = ChunkLineStateMachine()
    private var remaining = 0
    private var extensionBytes = 0
    private var scanner = FieldScanner()
    /// The trailer fields, complete after `.end`; what may not be in a trailer is marked dropped.
    package internal(set) var trailers = FieldTable()

    /// Keeps trailer fields of this name from being forwarded.
    package mutating func dropTrailers(named name: Span<UInt8>) { trailers.drop(named: name) }

    /// A decoder at the start of a body.
    package init(limits: ParserLimits = ParserLimits()) {
        self.limits = limits
    }

    /// Makes the decoder ready for another body, keeping its room.
    package mutating func reset() {
        phase = .line
        line = ChunkLineStateMachine()
        extensionBytes = 0
        trailers.reset()
    }

    /// Reads on; after `.end` or a violation only `reset` may follow.
    package mutating func next(_ bytes: Span<UInt8>) throws(HTTPViolation) -> Part {
        var at = 0
        while at < bytes.count || phase == .ended {
            switch phase {
            case .line:
                let ended = try line.take(bytes[at])
                at &+= 1
                if line.extensionBytes > limits.chunkExtension { throw .chunkExtensionTooLong }
                if ended { try beginChunk() }
            case .data:
                let length = Swift.min(remaining, bytes.count &- at)
                remaining &-= length
                if remaining == 0 { phase = .carriageReturn }
                return .data(at..<at &+ length, consumed: at &+ length)
            case .carriageReturn:
                guard bytes[at] == 0x0d else { throw .malformedChunkEnd }
                at &+= 1
                phase = .lineFeed
            case .lineFeed:
                guard bytes[at] == 0x0a else { throw .malformedChunkEnd }
                at &+= 1
                phase = .line
            case .trailers:
                return try readTrailers(bytes, from: at)
            case .ended:
                // Nothing follows the end; whoever asks is told so again.
                return .end(consumed: 0)
            }
        }
        return .needMore(consumed: at)
    }

    private mutating func beginChunk() throws(HTTPViolation) {
        extensionBytes += line.extensionBytes
        if extensionBytes > limits.chunkExtensions { throw .chunkExtensionTooLong }
        remaining = line.size
        line = ChunkLineStateMachine()
        if remaining > 0 {
            phase = .data
        } else {
            phase = .trailers
            scanner = FieldScanner()
        }
    }

    /// The section is offered whole each time, from its first byte, until its end has come.
    private mutating func readTrailers(_ bytes: Span<UInt8>, from start: Int) throws(HTTPViolation) -> Part {
        let section = bytes.extracting(start..<bytes.count)
        guard try scanner.scan(section, limits: limits, into: &trailers) else { return .needMore(consumed: start) }
        trailers.commit(section.extracting(0..<scanner.position), scanner.tally)
        trailers.dropForbiddenTrailers()
        phase = .ended
        return .end(consumed: start + scanner.position)
    }
}

extension FieldTable {
    /// Known fields that may come in a trailer; all others frame, route, judge or describe and may not.
    private static let allowedTrailers: KnownFieldSet = [.other, .grpcStatus, .grpcMessage, .server, .proxyStatus]

    /// RFC 9110 6.5.1: a trailer must not be taken for a header, so what could be is not forwarded.
    mutating func dropForbiddenTrailers() {
        for index in 0..<count where !Self.allowedTrailers.contains(field(at: index)) { drop(at: index) }
        dropPosedProxyStatus()
    }
}
