// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// What the frame layer tells. Everything here runs inside `receive` or `send`.
extension HTTP2Session {
    /// The types of frames, as they are on the wire (RFC 9113 6).
    private enum FrameType {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let reset: UInt8 = 3
        static let settings: UInt8 = 4
        static let ping: UInt8 = 6
        static let goAway: UInt8 = 7
        static let windowUpdate: UInt8 = 8
        static let continuation: UInt8 = 9
        static let acknowledged: UInt8 = 1
        static let endsStream: UInt8 = 1
        static let endsBlock: UInt8 = 4
    }

    /// Counts every frame before it is looked into; false when there were too many of its kind.
    func frameBegan(type: UInt8, flags: UInt8, length: Int) -> Bool {
        switch type {
        case FrameType.data:
            if length == 0, flags & FrameType.endsStream == 0 { return spend(.emptyFrames, \.emptyFrames) }
        case FrameType.headers:
            continuationCount = 0
            if length == 0 { return spend(.emptyFrames, \.emptyFrames) }
        case FrameType.continuation:
            continuationCount += 1
            if continuationCount > settings.continuations { return stop(.continuations) }
            if length == 0 { return spend(.emptyFrames, \.emptyFrames) }
        case FrameType.reset:
            return spend(.resets, \.resets)
        case FrameType.settings:
            if flags & FrameType.acknowledged == 0 { return spend(.settings, \.settings) }
        case FrameType.ping:
            if flags & FrameType.acknowledged == 0 { return spend(.pings, \.pings) }
        case FrameType.windowUpdate:
            return spend(.windowUpdates, \.windowUpdates)
        case FrameType.goAway:
            break
        default:
            return spend(.otherFrames, \.otherFrames)
        }
        return true
    }

    func unknownFramesCame(_ count: Int) {
        for _ in 0..<count where !spend(.otherFrames, \.otherFrames) { return }
    }

    private func spend(_ kind: HTTP2Flood, _ budget: WritableKeyPath<HTTP2Budgets, FloodBudget>) -> Bool {
        budgets[keyPath: budget].spend(now: now) || stop(kind)
    }

    private func stop(_ kind: HTTP2Flood) -> Bool {
        if flood == nil { flood = kind }
        return false
    }

    func blockBegan(_ kind: NghttpSession.BlockKind, stream id: Int32) {
        blockBytes = 0
        fieldBytes = 0
        if role == .server, kind == .request {
            // RFC 9113 6.8: what the client is told was not taken must not be done.
            guard id <= lastTaken else {
                ownResets.insert(id)
                return frames.reset(id, .refusedStream)
            }
            closed.opened(id)
            _ = open(id)
        }
        guard let stream = stream(id) else { return }
        if stream.phase == .body { stream.trailers.reset() } else if role == .client { stream.response.reset() }
    }

    /// Takes one field of a head or trailer section; false when the peer keeps sending too many.
    func fieldReceived(_ name: Span<UInt8>, _ value: Span<UInt8>, stream id: Int32) -> Bool {
        guard let stream = stream(id) else { return true }
        // RFC 9113 6.5.2 counts 32 bytes for each field.
        blockBytes += name.count + value.count + 32
        if stream.violation != nil {
            // Compressed, a block can be a thousand times what it was on the wire: no more of it is looked at.
            return blockBytes <= 16 * settings.heads.fieldBytes || stop(.largeHeaders)
        }
        do {
            try keep(name, value, of: stream)
        } catch {
            stream.violation = error
            let isTooLarge = error == .fieldsTooLarge || error == .tooManyFields
            if isTooLarge { return spend(.largeHeaders, \.largeHeaders) }
        }
        return true
    }

    private func keep(_ name: Span<UInt8>, _ value: Span<UInt8>, of stream: HTTP2Stream) throws(HTTPViolation) {
        let limits = settings.heads
        let isTrailer = stream.phase == .body
        if name.count > 0, name[0] == 0x3a {
            if isTrailer { throw .malformedPseudoField }
            if value.count > limits.startLine { throw .startLineTooLong }
            if role == .server {
                try stream.request.receivePseudo(name, value)
            } else {
                try stream.response.receivePseudo(name, value)
            }
            return
        }
        fieldBytes += name.count + value.count
        if fieldBytes > limits.fieldBytes { throw .fieldsTooLarge }
        try checkField(name, value)
        if isTrailer {
            try stream.trailers.keep(name, value, limits)
        } else if role == .client {
            try stream.response.fields.keep(name, value, limits)
        } else if name.equals("cookie") {
            // RFC 9113 8.2.3: crumbs are one field again before they reach anything but HTTP/2.
            if !stream.cookies.isEmpty { stream.cookies.append("; ") }
            stream.cookies.append(value)
        } else {
            try stream.request.fields.keep(name, value, limits)
        }
    }

    /// The library checked this too; what reaches an upstream is worth a second look that does not depend on it.
    private func checkField(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(HTTPViolation) {
        guard name.count > 0 else { throw .malformedFieldName }
        for index in name.indices {
            let byte = name[index]
            if ByteClass.table[Int(byte)] & ByteClass.token == 0 || byte &- 0x41 < 26 { throw .malformedFieldName }
        }
        if ByteScan.endOfValue(value, from: 0) != value.count { throw .controlByte }
    }

    func blockEnded(stream id: Int32, endsStream: Bool) {
        guard let stream = stream(id) else { return }
        if stream.phase == .body {
            trailersEnded(stream, endsStream: endsStream)
        } else if role == .server {
            requestEnded(stream, endsStream: endsStream)
        } else {
            responseEnded(stream, endsStream: endsStream)
        }
    }

    private func trailersEnded(_ stream: HTTP2Stream, endsStream: Bool) {
        if let violation = stream.violation {
            tell(.refused(stream, violation))
            return reset(stream, .protocolError)
        }
        stream.trailers.dropForbiddenTrailers()
        stream.hasTrailers = true
        if endsStream { streamEnded(stream.id) }
    }

    private func requestEnded(_ stream: HTTP2Stream, endsStream: Bool) {
        stream.phase = .body
        if stream.violation == nil {
            if !stream.cookies.isEmpty {
                stream.request.fields.append(name: "cookie".utf8.span, value: stream.cookies.bytes)
            }
            do {
                try stream.request.completeHTTP2(endsStream: endsStream)
            } catch {
                stream.violation = error
            }
        }
        stream.isInboundEnded = endsStream
        guard let violation = stream.violation else {
            tell(.head(stream))
            if endsStream { tell(.ended(stream)) }
            return
        }
        tell(.refused(stream, violation))
        if !endsStream { ignoreInbound(of: stream) }
    }

    private func responseEnded(_ stream: HTTP2Stream, endsStream: Bool) {
        if stream.violation == nil {
            do {
                try stream.response.completeHTTP2(endsStream: endsStream, answering: stream.method)
                if stream.response.isInterim {
                    if endsStream { throw HTTPViolation.malformedStatus }
                    stream.interims += 1
                    if stream.interims > ResponseHead.mostInterims { throw HTTPViolation.tooManyInterims }
                }
            } catch {
                stream.violation = error as? HTTPViolation ?? .malformedStatus
            }
        }
        if let violation = stream.violation {
            tell(.refused(stream, violation))
            return reset(stream, .protocolError)
        }
        if stream.response.isInterim {
            let interim = InterimAnswer()
            swap(&interim.head, &stream.response)
            return tell(.interim(stream, interim))
        }
        tell(.head(stream))
        stream.phase = .body
        if endsStream { streamEnded(stream.id) }
    }

    func dataReceived(_ data: Span<UInt8>, stream id: Int32) {
        guard let stream = stream(id) else { return frames.creditConnection(data.count) }
        // A slow reader of one answer must not hold up the others: what is held is bounded by the streams' windows.
        if role == .client { frames.creditConnection(data.count) }
        if stream.ignoresInbound { return discard(data.count, of: stream) }
        stream.uncredited += data.count
        let wasEmpty = stream.inbound.isEmpty
        stream.inbound.append(data)
        // Bytes the owner has not taken were already told of.
        if wasEmpty { tell(.data(stream)) }
    }

    func streamEnded(_ id: Int32) {
        guard let stream = stream(id), !stream.isInboundEnded else { return }
        stream.isInboundEnded = true
        if !stream.ignoresInbound { tell(.ended(stream)) }
    }

    func streamClosed(_ id: Int32, _ code: HTTP2ErrorCode) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        if latest === stream { latest = nil }
        ownResets.remove(id)
        stream.isClosed = true
        outboundTotal -= stream.outbound.count
        if stream.ignoresInbound { lingering.removeAll { $0.stream === stream } }
        if stream.uncredited > 0 {
            if role == .server { frames.creditConnection(stream.uncredited) }
            stream.uncredited = 0
        }
        let isTold = stream.phase == .body || role == .client
        if isTold { tell(.closed(stream, code)) } else { recycle(stream) }
    }

    func frameSent(stream id: Int32) {
        stream(id)?.hasBegunToSend = true
    }

    func endSent(stream id: Int32) {
        guard let stream = stream(id) else { return }
        stream.isOutboundSent = true
        if stream.ignoresInbound { linger(stream) }
    }

    func dataSent(_ stream: HTTP2Stream, _ count: Int) {
        outboundTotal -= count
        let mark = isOutboundCrowded ? HTTP2Stream.crowdedWater : HTTP2Stream.lowWater
        guard stream.isAboveLowWater, stream.outbound.count <= mark else { return }
        stream.isAboveLowWater = false
        tell(.drained(stream))
    }

    /// A DATA frame below this length, with more to send, was cut by the peer's windows.
    static let tinyFrame = 256

    func windowWasTiny() {
        if !budgets.tinyWindows.spend(now: now), flood == nil {
            flood = .tinyWindows
            frames.terminate(.enhanceYourCalm)
        }
    }

    /// A reset that none of our own commands asked for was provoked.
    func resetSent(stream id: Int32, _ code: HTTP2ErrorCode) {
        if role == .client { stream(id)?.wasResetHere = true }
        closed.wasReset(id)
        if ownResets.contains(id) || role == .client || code == .noError { return }
        if !budgets.provokedResets.spend(now: now), flood == nil {
            flood = .provokedResets
            frames.terminate(.enhanceYourCalm)
        }
    }

    func goAwaySent(_ code: HTTP2ErrorCode) {
        if code != .noError { errorSent = code }
    }

    func goAwayReceived(lastStream: Int32, _ code: HTTP2ErrorCode) {
        tell(.goAway(lastStream: lastStream, code))
    }

    func pongReceived() {
        tell(.pong)
    }
}

extension FieldTable {
    /// Adds a field within the limits.
    fileprivate mutating func keep(
        _ name: Span<UInt8>,
        _ value: Span<UInt8>,
        _ limits: ParserLimits
    ) throws(HTTPViolation) {
        guard count < limits.fieldCount, count < Self.mostFields else { throw .tooManyFields }
        append(name: name, value: value)
    }
}

extension RequestHead {
    /// Whether the client reads trailers (RFC 9110 10.1.4).
    package var acceptsTrailers: Bool {
        guard let value = fields.first(.te) else { return false }
        var list = TokenList()
        while let range = list.nextMember(of: value) {
            if value.extracting(range).equalsIgnoringCase("trailers") { return true }
        }
        return false
    }
}
