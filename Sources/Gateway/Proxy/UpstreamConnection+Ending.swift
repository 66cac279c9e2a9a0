// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

extension UpstreamConnection {
    func streamEnded(_ stream: ByteStream) {
        switch state {
        case .readingBody where body.endsWithConnection:
            answerEnded()
        case .relaying:
            // The peer is done; what it sent has been passed on.
            exchange?.relayEnded(by: .upstream)
        case .connecting, .idle, .awaitingHead, .readingBody:
            closed(.closedEarly)
        case .closed:
            break
        }
    }

    func streamClosed(_ stream: ByteStream, _ failure: StreamFailure?) {
        closed(UpstreamFailure(failure, whileConnecting: state == .connecting))
    }

    /// The connection failed or was given up; the exchange on it hears why.
    func closed(_ failure: UpstreamFailure) {
        guard state != .closed else { return }
        let wasConnecting = state == .connecting
        let mayRetry = wasUsed && !answerBegan && state == .awaitingHead && failure == .closedEarly
        let exchange = exchange
        self.exchange = nil
        close()
        guard let exchange else { return }
        let isOurHaste = failure == .connectTimedOut && hasLittleTime
        if !mayRetry, !isOurHaste, deadlines.blamesEndpoint(for: failure) { pool.failed(endpoint) }
        if wasConnecting {
            if exchange.generation == generation { exchange.upstreamUnavailable(failure, at: endpoint) }
        } else {
            exchange.upstreamFailed(failure, retry: mayRetry ? .ifSafe : .never)
        }
    }
}
