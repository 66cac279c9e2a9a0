// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Transport

/// Bytes in, events out: what the peer said is handed to the requests it is for.
extension HTTP2Upstream {
    /// There is something to send when the turn ends.
    func outputWaits() {
        guard !isEnlisted, state != .closed else { return }
        isEnlisted = true
        pool.turn.enlist(self)
    }

    func turnEnded() {
        isEnlisted = false
        flush()
    }

    func streamReceived(_ stream: ByteStream) {
        watch.heard()
        do throws(HTTP2Failure) {
            let now = pool.loop.now.nanoseconds
            let work = pool.loop.isCrowded ? Self.workWhenCrowded : Self.workPerTurn
            let taken = try stream.inbound.withBytes { bytes throws(HTTP2Failure) in
                try session.receive(bytes, now: now, work: work)
            }
            stream.consume(taken)
        } catch {
            return broken()
        }
        if !stream.inbound.isEmpty { stream.yieldTurn() }
        if session.hasGivenUp, isOpening { return broken() }
        if session.hasHeardPeer, state == .greeting { greeted() }
        tellEvents()
        if session.hasGivenUp { return sessionEnded() }
        outputWaits()
    }

    /// So much is looked at before others get their turn: 32 answers, and while turns are long six.
    private static let workPerTurn = 2048
    private static let workWhenCrowded = 384

    func streamDrained(_ stream: ByteStream) { outputWaits() }

    private func flush() {
        guard state != .connecting, state != .closed, let stream else { return }
        repeat {
            do throws(HTTP2Failure) {
                try session.send(into: &stream.outbound, limit: stream.limits.outboundHighWater)
            } catch {
                return broken()
            }
            // Resets close their streams as they leave.
        } while tellEvents() && session.hasOutput && !stream.isCongested
        guard state != .closed else { return }
        stream.outboundAppended()
        stream.flushNow()
        if state == .draining, streams.isEmpty { close() } else if session.isOver { sessionEnded() }
    }

    /// The session reads no more: the peer broke the protocol, or it went away and its last answer is here.
    private func sessionEnded() {
        if streams.allSatisfy(\.isWhole), !streams.isEmpty || state == .draining { close() } else { broken() }
    }

    /// Hands on what the session heard; whether there was anything.
    @discardableResult
    func tellEvents() -> Bool {
        var isAny = false
        while state != .closed, let event = session.nextEvent() {
            isAny = true
            tell(event)
        }
        return isAny
    }

    private func tell(_ event: HTTP2Event) {
        switch event {
        case .head(let stream):
            hasAnswered = true
            watch.heardAnswer()
            request(of: stream)?.headArrived()
        case .interim(let stream, let answer): request(of: stream)?.interimArrived(answer)
        case .refused(let stream, let violation):
            // Its end is not heeded by a peer that floods: no more is asked of it here.
            if violation == .tooManyInterims { retire() }
            request(of: stream)?.fail(.invalidResponse(violation.rawValue))
        case .data(let stream):
            watch.heardAnswer()
            request(of: stream)?.deliver()
        case .ended(let stream): request(of: stream)?.deliver()
        case .drained(let stream): request(of: stream)?.drained()
        case .closed(let stream, let code):
            if let request = request(of: stream) { request.streamClosed(code) } else { session.recycle(stream) }
            pool.streamEnded(on: self)
        case .goAway(let lastStream, _): goneAway(lastStream)
        case .pong: watch.heardPong()
        }
    }

    private func request(of stream: HTTP2Stream) -> UpstreamStream? {
        stream.context as? UpstreamStream
    }

    /// The peer takes no new requests, and did nothing about those after `lastStream` (RFC 9113 6.8).
    private func goneAway(_ lastStream: Int32) {
        if state == .open { state = .draining }
        for request in streams where request.stream.map({ $0.id > lastStream || !$0.hasBegunToSend }) ?? false {
            request.fail(.closedEarly, retry: .notProcessed)
        }
        outputWaits()
    }
}
