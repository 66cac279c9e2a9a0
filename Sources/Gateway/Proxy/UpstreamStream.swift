// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Transport

/// One request on an HTTP/2 connection to an upstream.
///
/// Isolated to the Reactor; made and reused by its connection. The stream's window is credited when bytes have been
/// taken by the client's side, so a slow client holds back its own answer and no other.
@Reactor
final class UpstreamStream: UpstreamSide {
    enum State {
        /// In the connection's free list. Can become: awaitingHead.
        case idle
        /// The request's head was sent, the answer's has not come. Can become: readingBody, idle.
        case awaitingHead
        /// The answer's body is coming. Can become: idle.
        case readingBody
    }

    let connection: HTTP2Upstream
    private(set) var state = State.idle
    private(set) var exchange: Exchange?
    private(set) var stream: HTTP2Stream?
    /// The stream's place among those of its connection.
    var index = 0
    private let timer: LoopTimer
    private var timeout = UpstreamFailure.firstByteTimedOut
    private var deadlines = UpstreamDeadlines()
    /// Bytes handed to the client's side and not yet credited, because it has too many.
    private var uncredited = 0
    private var isDelivering = false
    /// Whether the upstream has begun to speak of this request.
    private var heardInterim = false
    /// Whether the session has said that the stream is over.
    private var isOver = false

    /// The bytes a request's body may have waiting here before its client is held back.
    private static let outboundHighWater = 128 << 10

    init(_ connection: HTTP2Upstream) {
        self.connection = connection
        timer = LoopTimer(loop: connection.pool.loop)
        timer.onFire = { [unowned self] in fail(timeout) }
    }

    var endpoint: UpstreamEndpoint { connection.endpoint }
    var canRefuseUnprocessed: Bool { true }

    // MARK: Sending

    func sendHead(_ exchange: Exchange) {
        self.exchange = exchange
        state = .awaitingHead
        heardInterim = false
        deadlines.reset()
        isOver = false
        uncredited = 0
        stream = connection.begin(exchange)
        guard let stream else {
            // No memory; told later, since the exchange is in the middle of taking this stream.
            deadlines.requestMoved(isWhole: false)
            timeout = .closedEarly
            return timer.arm(after: .zero)
        }
        stream.context = self
        requestMoved(exchange)
    }

    var isCongested: Bool { (stream?.outboundCount ?? 0) >= Self.outboundHighWater }

    /// Whether the answer has come whole and only its client is waited for.
    var isWhole: Bool { stream?.isInboundEnded ?? false }

    func sendBody(_ bytes: Span<UInt8>) {
        guard let stream, let exchange, !stream.isClosed else { return }
        connection.session.write(bytes, to: stream)
        connection.outputWaits()
        requestMoved(exchange)
    }

    /// An upload that moves is not late, and no silence beside an answer that has begun.
    private func requestMoved(_ exchange: Exchange) {
        deadlines.requestMoved(isWhole: exchange.requestIsComplete)
        arm(exchange)
    }

    func endBody(_ exchange: Exchange, trailers: borrowing FieldTable) {
        guard let stream, exchange.request.framing.hasBody else { return }
        connection.session.end(stream, trailers: trailers, skipping: UpstreamRequest.withheldTrailers)
        connection.outputWaits()
        requestMoved(exchange)
    }

    func sendRelayed(_ bytes: Span<UInt8>) {}

    /// What waited to be sent has gone out.
    func drained() {
        exchange?.upstreamDrained()
    }

    // MARK: Reading

    /// An interim answer came.
    func interimArrived(_ answer: InterimAnswer) {
        guard let exchange, state == .awaitingHead else { return }
        heardInterim = true
        swap(&exchange.response, &answer.head)
        exchange.interimArrived()
        exchange.response.reset()
    }

    /// The final head is in the stream.
    func headArrived() {
        guard let exchange, let stream, state == .awaitingHead else { return }
        swap(&exchange.response, &stream.response)
        state = .readingBody
        deadlines.headArrived(isSwitch: false)
        connection.endpoint.succeeded()
        exchange.responseHeadArrived()
        if self.exchange === exchange { arm(exchange) }
    }

    /// Hands on what has arrived, and the end once nothing is left before it.
    func deliver() {
        guard let exchange, let stream, state == .readingBody else { return }
        let count = stream.inbound.count
        if count > 0 {
            guard !deadlines.isPaused else { return }
            arm(exchange)
            isDelivering = true
            stream.inbound.withBytes { exchange.responseBodyArrived($0) }
            isDelivering = false
            guard self.exchange === exchange, self.stream === stream else { return }
            stream.inbound.removeAll()
            uncredited += count
            if !deadlines.isPaused { credit(stream) }
        }
        if stream.isInboundEnded { end(exchange, stream) }
    }

    private func credit(_ stream: HTTP2Stream) {
        connection.session.credit(uncredited, of: stream)
        uncredited = 0
        connection.outputWaits()
    }

    private func end(_ exchange: Exchange, _ stream: HTTP2Stream) {
        // Taken out, because the stream may be made new while the exchange still looks at them.
        var trailers = FieldTable()
        if stream.hasTrailers { swap(&trailers, &stream.trailers) }
        for name in exchange.facts.route?.removedAnswerFields ?? [] { trailers.drop(named: name.span) }
        timer.cancel()
        exchange.responseEnded(keep: true, trailers: trailers)
    }

    func pauseReading() {
        deadlines.paused()
        if let exchange { arm(exchange) }
    }

    func resumeReading() {
        guard deadlines.isPaused, let exchange, let stream else { return }
        deadlines.resumed()
        arm(exchange)
        credit(stream)
        deliver()
    }

    // MARK: Letting go

    func release() { letGo() }

    func abandon() { letGo() }

    func finishRelay() {}

    func endRelay() { letGo() }

    private func letGo() {
        exchange = nil
        state = .idle
        timer.cancel()
        let stream = stream
        self.stream = nil
        if let stream {
            stream.context = nil
            if isOver {
                // Bytes that somebody looks at are not taken from under him.
                if !isDelivering { connection.session.recycle(stream) }
            } else if !stream.isClosed {
                connection.session.reset(stream, .cancel)
                connection.outputWaits()
            }
        }
        connection.ended(self)
    }

    // MARK: Ending

    /// The session is done with the stream.
    func streamClosed(_ code: HTTP2ErrorCode) {
        isOver = true
        // An answer that is whole waits for its client.
        guard let stream, !stream.isInboundEnded else { return }
        if !stream.hasBegunToSend { return fail(.closedEarly, retry: .notProcessed) }
        if stream.wasResetHere { return fail(.invalidResponse("malformed_message")) }
        switch code {
        case .refusedStream: fail(.streamReset(code), retry: .notProcessed)
        case .noError: fail(.closedEarly)
        default: fail(.streamReset(code))
        }
    }

    /// Ends the request on this side and tells the exchange.
    func fail(_ failure: UpstreamFailure, retry: UpstreamRetry.Ground = .never) {
        guard let exchange else { return }
        letGo()
        if retry == .never, blamesEndpoint(for: failure) { connection.pool.failed(endpoint) }
        exchange.upstreamFailed(failure, retry: retry)
    }

    /// Whether the failure of this request says something of the endpoint.
    func blamesEndpoint(for failure: UpstreamFailure) -> Bool { deadlines.blamesEndpoint(for: failure) }

    /// The connection failed under the request; the endpoint has been blamed for it.
    func connectionFailed(_ failure: UpstreamFailure, mayRetry: Bool) {
        guard let exchange else { return }
        let isUnanswered = state == .awaitingHead && !heardInterim
        letGo()
        exchange.upstreamFailed(failure, retry: mayRetry && isUnanswered ? .ifSafe : .never)
    }

    // MARK: Time

    /// Arms for what is waited for now, but never beyond the exchange's total time.
    private func arm(_ exchange: Exchange) {
        let due = deadlines.due(from: connection.pool.loop.now, exchange.facts.timeouts, end: exchange.facts.deadline)
        timeout = due.failure
        timer.arm(at: due.instant)
    }
}
