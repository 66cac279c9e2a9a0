// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Transport

/// One stream of an HTTP/2 connection as the client side of an exchange.
///
/// Isolated to the Reactor and pooled. Belongs to its connection from the request's head to the stream's end, which may
/// come after the exchange's.
@Reactor
final class HTTP2ClientSide: ClientSide {
    private(set) var connection: HTTP2Downstream?
    private(set) var stream: HTTP2Stream?
    /// The request under way; nil once it is answered or given up.
    var exchange: Exchange?
    /// The place among the connection's sides.
    var index = 0
    /// Whether the exchange takes body bytes now.
    var wantsBody = false
    private var isDelivering = false
    /// Whether the answer has begun: both sides may then talk as they like, and silence is the upstream's to end.
    var isAnswering = false
    /// Whether the exchange has been told of the end of the request.
    private var bodyIsTold = false
    private var reading = ProgressBudget()
    private var writing = ProgressBudget()
    /// When the client must have sent more of the body, or taken more of the answer.
    var readLimit = MonotonicInstant.distantFuture
    private var writeLimit = MonotonicInstant.distantFuture
    /// What the client had taken when `writeLimit` was looked at.
    private var sentAtLimit = 0

    init() {}

    // MARK: Life

    /// The head of a request is complete, or refused.
    func begin(_ connection: HTTP2Downstream, _ stream: HTTP2Stream, _ violation: HTTPViolation?) {
        self.connection = connection
        self.stream = stream
        stream.context = self
        let worker = connection.worker
        let exchange = worker.takeExchange()
        swap(&exchange.request, &stream.request)
        self.exchange = exchange
        wantsBody = false
        isAnswering = false
        bodyIsTold = !exchange.request.framing.hasBody
        reading.reset()
        writing.reset()
        readLimit = .distantFuture
        writeLimit = .distantFuture
        sentAtLimit = 0
        if let violation {
            exchange.beginRefused(violation, client: self, connection: connection.facts)
        } else {
            exchange.begin(client: self, connection: connection.facts)
        }
    }

    /// The stream is over, or its connection is: whoever still waits for it hears so.
    func end(_ failure: ClientFailure) {
        let exchange = exchange
        self.exchange = nil
        exchange?.clientGone(failure)
        stream?.context = nil
        stream = nil
        connection = nil
    }

    /// The client sends no more: a request that is not whole by now never will be.
    func inputEnded() {
        guard let stream, let connection, !stream.isInboundEnded else { return }
        connection.session.reset(stream, .cancel)
    }

    // MARK: The request's body

    func readBody() {
        if !wantsBody, !bodyIsTold, !isAnswering, let connection {
            readLimit = reading.wait(from: connection.worker.loop.now, connection.times)
        }
        wantsBody = true
        deliverBody()
    }

    func pauseBody() {
        wantsBody = false
        readLimit = .distantFuture
        if let connection { reading.pause(at: connection.worker.loop.now) }
    }

    /// Hands on what has come; the client may send as much again.
    func deliverBody() {
        guard !isDelivering, let stream, let connection else { return }
        isDelivering = true
        defer { isDelivering = false }
        while wantsBody, let exchange, !stream.inbound.isEmpty {
            // Taken out, because the exchange may end the stream while it looks at the bytes.
            var bytes = ByteBuffer()
            swap(&bytes, &stream.inbound)
            let count = bytes.count
            if !isAnswering {
                readLimit = reading.progressed(count, at: connection.worker.loop.now, connection.times)
            }
            bytes.withBytes { exchange.requestBodyReceived($0) }
            bytes.removeAll()
            swap(&bytes, &stream.inbound)
            connection.session.credit(count, of: stream)
            connection.outputAppended()
        }
        guard wantsBody, !bodyIsTold, let exchange, stream.isInboundEnded, stream.inbound.isEmpty else { return }
        bodyIsTold = true
        readLimit = .distantFuture
        for name in exchange.facts.route?.removedRequestFields ?? [] { stream.trailers.drop(named: name.span) }
        exchange.requestBodyEnded(trailers: stream.trailers)
    }

    // MARK: Time

    /// Looks whether the client keeps its exchange waiting: for the rest of the request, or by
    /// taking nothing of the answer.
    func check(now: MonotonicInstant) {
        guard let stream, let connection else { return }
        if now >= readLimit, let exchange {
            connection.worker.defences.note(.slowBody, client: connection.facts.peerText)
            pauseBody()
            exchange.requestBodyFailed(.tooSlow)
        } else if isReadTooSlowly(stream, connection, now) {
            connection.worker.defences.note(.slowReader, client: connection.facts.peerText)
            connection.session.reset(stream, .cancel)
            let exchange = exchange
            self.exchange = nil
            exchange?.clientGone(.writeTimedOut)
        }
    }

    /// What the client's windows hold back is due like what a socket does not take.
    private func isReadTooSlowly(_ stream: HTTP2Stream, _ connection: HTTP2Downstream, _ now: MonotonicInstant) -> Bool
    {
        let taken = stream.sentCount - sentAtLimit
        sentAtLimit = stream.sentCount
        guard stream.outboundCount > 0 else {
            writing.pause(at: now)
            writeLimit = .distantFuture
            return false
        }
        if writeLimit == .distantFuture {
            writeLimit = writing.wait(from: now, connection.times)
        } else if taken > 0 {
            writeLimit = writing.progressed(taken, at: now, connection.times)
        }
        return now >= writeLimit
    }
}
