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
    }

    /// Counts every frame before it is looked into; false when there were too many of its kind.
    func frameBegan(type: UInt8, flags: UInt8, length: Int) -> Bool {
        switch type {
        case FrameType.data:
            if length == 0, flags & FrameType.endsStream == 0 { return spend(.emptyFrames, \.emptyFrames) }
        case FrameType.headers:
            if length == 0 { return spend(.emptyFrames, \.emptyFrames) }
        case FrameType.continuation:
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

    /// DATA of nothing but padding is as empty as one without any.
    func paddingCame() -> Bool { spend(.emptyFrames, \.emptyFrames) }

    func unknownFramesCame(_ count: Int) {
        for _ in 0..<count where !spend(.otherFrames, \.otherFrames) { return }
    }

    func spend(_ kind: HTTP2Flood, _ budget: WritableKeyPath<HTTP2Budgets, FloodBudget>) -> Bool {
        budgets[keyPath: budget].spend(now: now) || stop(kind)
    }

    func stop(_ kind: HTTP2Flood) -> Bool {
        if flood == nil { flood = kind }
        return false
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
        if let code = stream.shortEnd, stream.outbound.isEmpty { return reset(stream, code) }
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
