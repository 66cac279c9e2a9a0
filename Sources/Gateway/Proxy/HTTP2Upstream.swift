// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Telemetry
import Transport

/// One HTTP/2 connection to an upstream endpoint, carrying many requests at once.
///
/// Isolated to the Reactor; held by its endpoint while it lives. What a turn's requests have to say leaves in one write
/// at the end of the turn.
@Reactor
final class HTTP2Upstream: StreamOwner {
    enum State {
        /// The connect or its TLS handshake is under way. Can become: greeting, closed.
        case connecting
        /// The peer's settings have not come: no request is sent before we know that it speaks HTTP/2 and how many it
        /// takes. Can become: open, closed.
        case greeting
        /// Takes requests. Can become: draining, closed.
        case open
        /// Requests under way go on, new ones go elsewhere. Can become: closed.
        case draining
        case closed
    }

    let endpoint: UpstreamEndpoint
    let pool: UpstreamPool
    let session: HTTP2Session
    var state = State.connecting
    var stream: ByteStream?
    /// Exchanges that wait for the connect.
    private var waiting: [Exchange] = []
    private var connectEnd = MonotonicInstant.distantFuture
    var streams: [UpstreamStream] = []
    private var spare: [UpstreamStream] = []
    private var opened = 0
    /// Whether an earlier request was answered: only then may a silent close be a race with the peer's idle limit.
    var hasAnswered = false
    var isEnlisted = false
    lazy var watch = UpstreamWatch(self)

    /// Requests that share one connection, whatever more the peer allows: one lost packet holds them all up.
    private static let mostStreams = 100
    /// Half of the numbers a connection has; the next one begins again.
    private static let mostOpened = 1 << 29

    /// Nil only without memory.
    init?(pool: UpstreamPool, endpoint: UpstreamEndpoint) {
        guard let session = HTTP2Session(.client, settings: .upstream, pool: pool.streams) else { return nil }
        self.session = session
        self.pool = pool
        self.endpoint = endpoint
    }

    // MARK: Opening

    /// Connects; exchanges handed over meanwhile wait for it.
    func open(_ address: SocketAddress, tls: TLSClientContext?, within limit: Duration) {
        endpoint.opened(self)
        pool.metrics.streamed.opened()
        connectEnd = pool.loop.now.advanced(by: limit)
        watchConnect()
        let stream = pool.stream(to: endpoint, at: address, tls: tls)
        self.stream = stream
        stream.start(owner: self)
    }

    func streamConnected(_ stream: ByteStream) {
        if !endpoint.settings.usesTLS { connected() }
    }

    func streamSecured(_ stream: ByteStream, _ session: TLSSessionFacts) {
        guard session.applicationProtocol == "h2" else { return fail(.protocolRefused) }
        connected()
    }

    private func connected() {
        state = .greeting
        outputWaits()
    }

    func greeted() {
        state = .open
        let exchanges = waiting
        waiting = []
        watch.idle()
        for exchange in exchanges {
            if hasRoom { carry(exchange) } else { pool.lease(for: exchange) }
        }
    }

    /// Whether one more request can be carried now, or once the connection is there.
    var hasRoom: Bool {
        switch state {
        case .connecting, .greeting: waiting.count < Self.mostStreams
        case .open: streams.count < Self.mostStreams && session.room > 0 && opened < Self.mostOpened
        case .draining, .closed: false
        }
    }

    var isOpening: Bool { state == .connecting || state == .greeting }

    /// Whether nothing is under way.
    var isIdle: Bool { state == .open && streams.isEmpty }

    /// Takes one more request; the exchange hears of it by `upstreamReady`, at once unless the connect is under way.
    func carry(_ exchange: Exchange) {
        if isOpening {
            waiting.append(exchange)
            if exchange.leaseEnd < connectEnd { watchConnect() }
            return
        }
        precondition(state == .open, "a connection that is ending cannot carry another request")
        let stream = spare.popLast() ?? UpstreamStream(self)
        stream.index = streams.count
        streams.append(stream)
        pool.metrics.streams.add(1)
        watch.busy()
        exchange.upstreamReady(stream)
    }

    /// Looks again when the connect must be done, or the first of those who wait for it has waited long enough.
    private func watchConnect() {
        watch.connecting(until: waiting.reduce(connectEnd) { min($0, $1.leaseEnd) })
    }

    /// The time for the connect is over, or that of some who waited for a place before.
    func connectIsLate() {
        let now = pool.loop.now
        guard now < connectEnd else { return fail(.connectTimedOut) }
        let late = waiting.filter { $0.leaseEnd <= now }
        waiting.removeAll { $0.leaseEnd <= now }
        watchConnect()
        for exchange in late { exchange.upstreamUnavailable(.connectTimedOut, at: endpoint) }
    }

    /// The exchange no longer waits for the connect.
    func withdraw(_ exchange: Exchange) {
        waiting.removeAll { $0 === exchange }
    }

    // MARK: Requests

    /// Opens the exchange's stream.
    func begin(_ exchange: Exchange) -> HTTP2Stream? {
        opened += 1
        outputWaits()
        return UpstreamRequest.begin(exchange, pool: pool, endpoint: endpoint, on: session)
    }

    /// A request is done with, whatever became of it.
    func ended(_ stream: UpstreamStream) {
        guard stream.index < streams.count, streams[stream.index] === stream else { return }
        let last = streams.removeLast()
        if last !== stream {
            last.index = stream.index
            streams[stream.index] = last
        }
        spare.append(stream)
        pool.metrics.streams.add(-1)
        guard state == .open || state == .draining else { return }
        if streams.isEmpty { becameIdle() }
        pool.streamEnded(on: self)
    }

    private func becameIdle() {
        if state == .draining { return sayFarewell() }
        watch.idle()
        if endpoint.idleStreamed > pool.settings.pool.idle { retire() }
    }

    // MARK: Ending

    /// Takes no more requests and closes after those under way.
    func retire() {
        guard state == .open else { return }
        state = .draining
        if streams.isEmpty { sayFarewell() }
    }

    /// Not before the last answer: there are servers that send nothing more after it.
    private func sayFarewell() {
        session.goAway()
        outputWaits()
    }

    func streamEnded(_ stream: ByteStream) { fail(.closedEarly) }

    func streamClosed(_ stream: ByteStream, _ failure: StreamFailure?) {
        fail(UpstreamFailure(failure, whileConnecting: isOpening))
    }

    /// The peer does not keep to HTTP/2.
    func broken() {
        tellEvents()
        fail(.invalidResponse("http2_violation"))
    }

    /// The connection is no good any more; all exchanges on it hear why.
    func fail(_ failure: UpstreamFailure) {
        guard state != .closed else { return }
        let mayRetry = hasAnswered && failure == .closedEarly
        let unheard = waiting
        // An answer that is whole and waits for its client needs no connection.
        let requests = streams.filter { !$0.isWhole }
        waiting = []
        let isBlamed = requests.contains { $0.blamesEndpoint(for: failure) }
        if isOpening || isBlamed && !mayRetry { pool.failed(endpoint) }
        sayGoodbye()
        close()
        for exchange in unheard { exchange.upstreamUnavailable(failure, at: endpoint) }
        for request in requests { request.connectionFailed(failure, mayRetry: mayRetry) }
    }

    /// A peer that broke the protocol is told so, as far as the socket takes it.
    private func sayGoodbye() {
        guard state != .connecting, let stream, stream.isOpen else { return }
        do throws(HTTP2Failure) {
            try session.send(into: &stream.outbound, limit: stream.limits.outboundHighWater)
        } catch {
            // What was said before the fault is in the buffer all the same.
        }
        stream.outboundAppended()
        stream.flushNow()
    }

    /// Ends the connection without telling anybody.
    func close() {
        guard state != .closed else { return }
        state = .closed
        watch.stop()
        stream?.close()
        stream = nil
        endpoint.closed(self)
        pool.metrics.streamed.closed()
        pool.placeFreed()
    }
}
