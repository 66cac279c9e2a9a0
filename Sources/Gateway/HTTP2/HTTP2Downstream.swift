// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Telemetry
import Transport

/// One HTTP/2 connection of a client: many exchanges at a time over one session.
///
/// Isolated to the Reactor. What the exchanges of one turn have to say leaves in one write at the end of it. Every
/// request is judged by its own authority; nothing about app or route is remembered here.
@Reactor
final class HTTP2Downstream: StreamOwner, ClientConnection {
    enum State {
        /// Requests are read. Can become: closing, closed.
        case open
        /// The last frames go out. Can become: closed.
        case closing
        case closed
    }

    /// How far a graceful end has come (RFC 9113 6.8).
    enum Draining {
        case no
        /// The client was told to open no more streams; those already on their way are still taken.
        case announced
        /// The last stream is decided.
        case decided
    }

    let worker: Worker
    let stream: ByteStream
    var facts: ClientConnectionFacts
    let session: HTTP2Session
    /// What was announced when the connection began.
    let settings: HTTP2Settings
    var state = State.open
    var draining = Draining.no
    /// The requests under way and those whose streams have not ended.
    var sides: [HTTP2ClientSide] = []
    /// Fields of ours on their way into a head.
    var lines = ByteBuffer()
    /// The client has closed its writing half.
    var inputEnded = false
    private var requests = 0
    private var isEnlisted = false
    /// Why it is not open any more.
    var ending = ClientFailure.closedEarly
    /// Whether exchanges wait to be ended.
    var isAbandoning = false

    let timer: LoopTimer
    /// Whether the timer fires within a second.
    var isTicking = false
    var idleSince: MonotonicInstant
    var heardAt: MonotonicInstant
    var pingedAt: MonotonicInstant?
    var unsentAtTick = 0
    var unsentSince: MonotonicInstant

    /// Frames are gathered up to here before they are encrypted: four full records.
    static let gatherSize = 64 << 10
    /// So much of what the client asks for is looked at before others get their turn: 16 requests.
    private static let workPerTurn = 1024
    /// While turns are long: four.
    private static let workWhenCrowded = 256
    /// Nobody else waits longer than this many gatherings.
    private static let gatheringsPerTurn = 4

    /// Nil only without memory.
    init?(stream: ByteStream, facts: ClientConnectionFacts, worker: Worker) {
        settings = worker.snapshot.http2
        guard let session = HTTP2Session(.server, settings: settings, pool: worker.http2.streams) else { return nil }
        self.session = session
        self.stream = stream
        self.facts = facts
        self.worker = worker
        let now = worker.loop.now
        (idleSince, heardAt, unsentSince) = (now, now, now)
        timer = LoopTimer(loop: worker.loop)
        timer.onFire = { [unowned self] in timerFired() }
    }

    /// Sends our settings; the client may already have sent its own.
    func greet() {
        if draining == .no { armIdle() }
        outputAppended()
    }

    // MARK: Bytes

    func streamReceived(_ stream: ByteStream) {
        guard state == .open else { return stream.consume(stream.inbound.count) }
        heardAt = worker.loop.now
        pingedAt = nil
        let work = worker.loop.isCrowded ? Self.workWhenCrowded : Self.workPerTurn
        do throws(HTTP2Failure) {
            let taken = try stream.inbound.withBytes { bytes throws(HTTP2Failure) in
                try session.receive(bytes, now: heardAt.nanoseconds, work: work)
            }
            stream.consume(taken)
        } catch {
            return end(error)
        }
        if !stream.inbound.isEmpty { stream.yieldTurn() }
        if session.blockBeganAt != nil, !isTicking { tickSoon() }
        handleEvents()
        outputAppended()
    }

    /// There may be frames to send when the turn ends.
    func outputAppended() {
        guard !isEnlisted else { return }
        isEnlisted = true
        worker.http2Turn.enlist(self)
    }

    func turnEnded() {
        isEnlisted = false
        pump()
    }

    func streamDrained(_ stream: ByteStream) { pump() }

    /// Sends what the client's windows and the socket take.
    private func pump() {
        guard state == .open else { return }
        do throws(HTTP2Failure) {
            var rounds = 0
            while stream.outboundCount < Self.gatherSize {
                guard rounds == 0 || rounds < Self.gatheringsPerTurn && !worker.loop.isLate else {
                    outputAppended()
                    break
                }
                rounds += 1
                let before = stream.outboundCount
                try session.send(into: &stream.outbound, limit: Self.gatherSize)
                handleEvents()
                if stream.outboundCount == before { break }
                stream.flushNow()
            }
        } catch {
            return end(error)
        }
        if inputEnded, sides.isEmpty {
            session.goAway()
            return finish()
        }
        guard session.isOver else { return }
        if session.errorSent != nil { worker.defences.note(.http2Protocol, client: facts.peerText) }
        finish()
    }

    // MARK: Events

    private func handleEvents() {
        while state == .open, let event = session.nextEvent() {
            switch event {
            case .head(let stream): requestArrived(stream, nil)
            case .refused(let stream, let violation):
                if let side = side(of: stream) { side.end(.closedEarly) } else { requestArrived(stream, violation) }
            case .data(let stream), .ended(let stream): side(of: stream)?.deliverBody()
            case .drained(let stream): side(of: stream)?.exchange?.clientDrained()
            case .closed(let stream, let code): streamClosed(stream, code)
            case .pong:
                if draining == .announced { decideLast() }
            case .goAway, .interim: break
            }
        }
    }

    private func side(of stream: HTTP2Stream) -> HTTP2ClientSide? {
        stream.context as? HTTP2ClientSide
    }

    private func requestArrived(_ stream: HTTP2Stream, _ violation: HTTPViolation?) {
        let side = worker.http2.takeSide()
        side.index = sides.count
        sides.append(side)
        worker.metrics.wire.http2Streams.add(1)
        if !isTicking { tickSoon() }
        requests += 1
        if requests >= worker.snapshot.settings.connections.requests { drain() }
        side.begin(self, stream, violation)
    }

    private func streamClosed(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        if code != .noError { worker.metrics.wire.countReset(code) }
        if let side = side(of: stream) {
            side.end(.closedEarly)
            remove(side)
        }
        session.recycle(stream)
        if sides.isEmpty { idleSince = worker.loop.now }
    }

    func remove(_ side: HTTP2ClientSide) {
        let last = sides.removeLast()
        if last !== side {
            sides[side.index] = last
            last.index = side.index
        }
        worker.metrics.wire.http2Streams.add(-1)
        worker.http2.give(side)
    }
}
