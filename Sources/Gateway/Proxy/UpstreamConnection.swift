// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Transport

/// One connection to an upstream endpoint, carrying one request after another.
///
/// Isolated to the Reactor. Its stream is held by the loop while open; the connection itself is held by the stream's
/// ownership, its pool's idle list or an exchange. Answers are parsed as strictly as requests: an upstream that frames
/// badly gets a 502 in its place.
@Reactor
final class UpstreamConnection: StreamOwner, UpstreamSide {
    enum State {
        /// The connect or its TLS handshake is under way. Can become: idle, closed.
        case connecting
        /// No request is under way. Can become: awaitingHead, closed.
        case idle
        /// A request's head was sent, the answer's head has not come. Can become: readingBody, relaying, idle, closed.
        case awaitingHead
        /// The answer's body is coming. Can become: idle, closed.
        case readingBody
        /// After a 101: bytes as they are. Can become: closed.
        case relaying
        case closed
    }

    let endpoint: UpstreamEndpoint
    let pool: UpstreamPool
    var state = State.connecting
    let stream: ByteStream
    var exchange: Exchange?
    /// The `generation` of the exchange that the connect is for: one that does not wait for it
    /// is another request by then.
    var generation: UInt64 = 0
    var parser: ResponseParser
    var body: BodyReader
    /// Whether an earlier request used the connection: only then may a silent close be a race with its idle limit.
    var wasUsed = false
    var answerBegan = false
    var keepsAlive = true
    /// The interim answers to the request under way.
    var interims = InterimTally()
    var deadlines = UpstreamDeadlines()
    var timeout = UpstreamFailure.connectTimedOut
    /// Whether waiting for a place had used up the time to connect: its end says nothing of the endpoint then.
    var hasLittleTime = false
    /// Where the connect waits its turn.
    var turn: LoopTurn?
    let timer: LoopTimer

    init(pool: UpstreamPool, endpoint: UpstreamEndpoint, address: SocketAddress, tls: TLSClientContext?) {
        self.stream = pool.stream(to: endpoint, at: address, tls: tls)
        self.pool = pool
        self.endpoint = endpoint
        self.parser = ResponseParser(limits: pool.limits)
        self.body = BodyReader()
        self.timer = LoopTimer(loop: pool.loop)
        timer.onFire = { [unowned self] in timerFired() }
    }

    // MARK: Opening

    /// Connects for `exchange`, which hears of it by `upstreamReady` or `upstreamUnavailable`.
    func open(for exchange: Exchange) {
        self.exchange = exchange
        generation = exchange.generation
        endpoint.connectionOpened()
        pool.metrics.single.opened()
        timeout = .poolExhausted
        timer.arm(at: exchange.leaseEnd)
        stream.serves(lane: exchange.lane)
        turn = LoopTurn.take(on: pool.loop, lane: exchange.lane) { self.connect() }
    }

    private func connect() {
        turn = nil
        guard state == .connecting, let exchange, isAwaited(by: exchange) else { return close() }
        timeout = .connectTimedOut
        hasLittleTime = exchange.hasLittleTimeToConnect
        stream.start(owner: self)
    }

    private func isAwaited(by exchange: Exchange) -> Bool {
        exchange.generation == generation && exchange.stage == .leasing
    }

    func streamConnected(_ stream: ByteStream) {
        if !endpoint.settings.usesTLS { opened() }
    }

    func streamSecured(_ stream: ByteStream, _ session: TLSSessionFacts) {
        opened()
    }

    private func opened() {
        timer.cancel()
        guard let exchange, isAwaited(by: exchange) else {
            self.exchange = nil
            return close()
        }
        state = .idle
        exchange.upstreamReady(self)
    }

    /// An idle connection takes its next request.
    func carry(_ exchange: Exchange) {
        precondition(state == .idle, "a busy connection cannot carry another request")
        timer.cancel()
        self.exchange = exchange
        stream.serves(lane: exchange.lane)
        exchange.upstreamReady(self)
    }

    // MARK: Sending

    /// Writes the head of the exchange's request.
    func sendHead(_ exchange: Exchange) {
        guard state != .closed else { return }
        state = .awaitingHead
        answerBegan = false
        keepsAlive = true
        interims = InterimTally()
        deadlines.reset()
        UpstreamRequest.write(exchange, endpointAuthority: endpoint.authority, to: &stream.outbound)
        stream.outboundAppended()
        requestMoved(exchange)
    }

    var canRefuseUnprocessed: Bool { false }

    /// Whether the exchange should stop reading from its client for now.
    var isCongested: Bool { state != .closed && stream.isCongested }

    /// Sends part of the request's body, chunked where the head said so.
    func sendBody(_ bytes: Span<UInt8>) {
        guard state != .closed, let exchange else { return }
        if exchange.request.framing == .chunked {
            ChunkedEncoder.append(bytes, to: &stream.outbound)
        } else {
            stream.outbound.append(bytes)
        }
        stream.outboundAppended()
        requestMoved(exchange)
    }

    /// An upload that moves is not late, and no silence beside an answer that has begun.
    private func requestMoved(_ exchange: Exchange) {
        deadlines.requestMoved(isWhole: exchange.requestIsComplete)
        arm(exchange)
    }

    /// The request's body is complete.
    func endBody(_ exchange: Exchange, trailers: borrowing FieldTable) {
        guard state != .closed else { return }
        if exchange.request.framing == .chunked {
            let withheld = UpstreamRequest.withheldTrailers
            ChunkedEncoder.appendEnd(trailers: trailers, skipping: withheld, to: &stream.outbound)
            stream.outboundAppended()
        }
        requestMoved(exchange)
    }

    /// Sends bytes as they are after a switch of protocols.
    func sendRelayed(_ bytes: Span<UInt8>) {
        guard state != .closed, let exchange else { return }
        stream.outbound.append(bytes)
        stream.outboundAppended()
        arm(exchange)
    }

    func streamDrained(_ stream: ByteStream) {
        exchange?.upstreamDrained()
    }

    func pauseReading() {
        deadlines.paused()
        stream.pauseReading()
        if let exchange { arm(exchange) }
    }

    func resumeReading() {
        guard deadlines.isPaused else { return }
        deadlines.resumed()
        stream.resumeReading()
        if let exchange { arm(exchange) }
    }

    // MARK: Letting go

    /// The exchange is over and the answer was read whole: the next request may come.
    func release() {
        exchange = nil
        guard state == .idle, keepsAlive, stream.isOpen, stream.inbound.isEmpty else { return close() }
        wasUsed = true
        deadlines.reset()
        // The last bytes may have met a client that was slow to take them.
        stream.resumeReading()
        timeout = .idleTimedOut
        timer.arm(after: pool.settings.pool.idleTimeout)
        pool.returned(self)
    }

    /// The exchange has no more use for the connection, whose state no other request could trust.
    func abandon() {
        exchange = nil
        close()
    }

    func finishRelay() {
        guard state == .relaying else { return }
        stream.closeWrite()
    }

    /// The relay has ended: what the client sent still goes out.
    func endRelay() {
        guard state != .closed else { return }
        exchange = nil
        state = .closed
        timer.cancel()
        stream.closeAfterFlush()
        pool.closed(self)
    }

    /// Ends the connection without telling an exchange.
    func close() {
        guard state != .closed else { return }
        state = .closed
        timer.cancel()
        turn?.giveUp()
        turn = nil
        stream.close()
        pool.closed(self)
    }

    // MARK: Time

    private func timerFired() {
        closed(timeout)
    }

    /// Arms for what is waited for now, but never beyond the exchange's total time.
    func arm(_ exchange: Exchange) {
        let due = deadlines.due(from: pool.loop.now, exchange.facts.timeouts, end: exchange.facts.deadline)
        timeout = due.failure
        timer.arm(at: due.instant)
    }
}
