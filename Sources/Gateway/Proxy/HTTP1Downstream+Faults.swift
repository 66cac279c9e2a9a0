// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Transport

/// What a client does wrong, and the end of what it sends.
extension HTTP1Downstream {
    /// A malformed head: answered with its status, and the connection ends (RFC 9112 9.6).
    func refuse(_ violation: HTTPViolation, _ exchange: Exchange) {
        state = .exchanging
        closesAfterAnswer = true
        disarm()
        body.begin(.none, worker.snapshot.parserLimits)
        exchange.beginRefused(violation, client: self, connection: facts)
    }

    /// A malformed body: the upstream must not take what it has for the whole.
    func bodyViolated(_ violation: HTTPViolation, _ exchange: Exchange) {
        closesAfterAnswer = true
        exchange.requestBodyFailed(violation)
    }

    func streamEnded(_ stream: ByteStream) {
        inputEnded = true
        if !isProcessing { inputUsedUp() }
    }

    /// Nothing more comes, and what came has been handled as far as it can be now.
    ///
    /// A client may close its writing half with its request, even in one packet, and wait for the answer: what is
    /// written goes out, and what is still on its way is waited for.
    func inputUsedUp() {
        switch state {
        case .idle, .readingHead:
            // A client that asks on without reading its answers: the next request is read when it has.
            if stream.isCongested, !stream.inbound.isEmpty { return }
            exchange = nil
            state = .closing
            disarm()
            stream.closeAfterFlush()
        case .exchanging where body.isComplete:
            if stream.inbound.isEmpty { closesAfterAnswer = true }
        case .exchanging:
            // Bytes that wait to be taken may still make the body whole.
            if wantsBody || stream.inbound.isEmpty { fail(.closedEarly) }
        case .discarding:
            if stream.inbound.isEmpty { beginClosing() }
        case .relaying:
            if stream.inbound.isEmpty { exchange?.relayEnded(by: .client) }
        case .closing, .closed:
            break
        }
    }

    func streamClosed(_ stream: ByteStream, _ failure: StreamFailure?) {
        if failure == .flushDeadlinePassed { worker.defences.note(.slowReader, client: facts.peerText) }
        fail(.closedEarly)
    }

    func fail(_ failure: ClientFailure) {
        guard state != .closed else { return }
        let exchange = exchange
        self.exchange = nil
        close()
        exchange?.clientGone(failure)
    }
}
