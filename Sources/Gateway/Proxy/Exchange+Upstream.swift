// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Telemetry
import Transport

extension Exchange {
    // MARK: The upstream's side

    /// `connection` is ready to carry the request.
    func upstreamReady(_ connection: any UpstreamSide) {
        guard stage == .leasing, let client else { return connection.abandon() }
        stage = .sending
        upstream = connection
        triedEndpoint = connection.endpoint
        timesSent += 1
        connection.sendHead(self)
        sendGathered(on: connection)
        sendReplay(on: connection)
        beginContinueWait()
        // A call may go on for as long as its client talks before anything answers it.
        if request.isGRPC, facts.admission != nil { worker.state.streams.add(self) }
        if !requestIsComplete { client.readBody() }
    }

    /// What an earlier upstream got of the body and did nothing about.
    private func sendReplay(on connection: any UpstreamSide) {
        guard attempts > 1, gathered == nil, request.framing.hasBody else { return }
        if !replay.bytes.isEmpty { replay.bytes.withBytes { connection.sendBody($0) } }
        if requestIsComplete { connection.endBody(self, trailers: FieldTable()) }
    }

    /// No connection could be had; another endpoint is tried while nothing was sent (it is safe for any method).
    func upstreamUnavailable(_ failure: UpstreamFailure, at endpoint: UpstreamEndpoint?) {
        guard stage == .leasing else { return }
        if let endpoint, attempts < UpstreamRetry.connectAttempts,
            facts.upstreamPool?.hasAlternative(to: endpoint) == true
        {
            triedEndpoint = endpoint
            return lease(fresh: wantsFresh)
        }
        upstream = nil
        fail(failure)
    }

    /// What was waiting to be sent to the upstream has gone out.
    func upstreamDrained() {
        guard stage == .sending || stage == .answering || stage == .relaying else { return }
        client?.readBody()
    }

    /// An interim answer (1xx but 101) is in `response`.
    func interimArrived() {
        if isContinueRepeated() { return }
        client?.sendInterim(self)
        if client?.isCongested == true { upstream?.pauseReading() }
    }

    /// The final head is in `response`.
    func responseHeadArrived() {
        stage = .answering
        facts.firstByteAt = worker.loop.now
        facts.status = response.status
        // What has no end of its own is not held to the route's.
        if response.status == 101 || response.isEventStream { facts.deadline = facts.callEnd }
        if holdsAnswer() { return }
        client?.sendHead(self)
        if response.status == 101 {
            stage = .relaying
            worker.metrics.openWebSockets.add(1)
        }
        if facts.admission != nil { worker.state.streams.add(self) }
    }

    /// Part of the answer's body, or of what follows a switch of protocols.
    func responseBodyArrived(_ bytes: Span<UInt8>) {
        guard let client else { return }
        facts.bytesOut &+= bytes.count
        if let held = facts.signIn?.held, holdMore(bytes, held) { return }
        if stage == .relaying {
            guard facts.endingStream == nil else { return relayEnding(bytes, to: client) }
            facts.frames.advance(bytes)
            client.sendRelayed(bytes)
        } else {
            client.sendBody(bytes)
        }
        if client.isCongested { upstream?.pauseReading() }
    }

    /// The answer is complete.
    ///
    /// `keep`: the connection may carry another request, provided ours has been sent whole.
    func responseEnded(keep: Bool, trailers: borrowing FieldTable) {
        if let held = facts.signIn?.held {
            detachUpstream(keep: keep && requestIsComplete)
            return finishHeld(held)
        }
        client?.sendEnd(self, trailers: trailers)
        detachUpstream(keep: keep && requestIsComplete)
        finish()
    }

    /// What was held goes out as it came.
    func releaseHeld(_ bytes: [UInt8]) {
        client?.sendHead(self)
        client?.sendBody(bytes.span)
    }

    /// A held answer that went out as it came is complete; trailers are not held.
    func endHeld() {
        client?.sendEnd(self, trailers: FieldTable())
        finish()
    }

    /// The connection failed under the request.
    func upstreamFailed(_ failure: UpstreamFailure, retry: UpstreamRetry.Ground) {
        upstream = nil
        switch stage {
        case .sending where mayRetry(on: retry):
            worker.metrics.upstreamRetries.increment()
            stage = .leasing
            client?.pauseBody()
            // What it refused, an upstream takes again on the same connection.
            lease(fresh: retry == .ifSafe)
        case .sending, .leasing:
            fail(failure)
        case .answering where facts.signIn?.held != nil:
            // Nothing of it has gone out: the client gets a whole answer.
            facts.signIn?.held = nil
            fail(failure)
        case .answering:
            facts.upstreamFailure = failure
            facts.outcome = .failed
            endShort(with: GRPCEnding.trailers(for: failure))
            finish()
        case .relaying:
            // Either side may end a relay; only a timeout is a fault.
            if failure != .closedEarly { facts.upstreamFailure = failure }
            client?.abort()
            finish()
        case .idle, .judging, .finished:
            break
        }
    }

    private func mayRetry(on ground: UpstreamRetry.Ground) -> Bool {
        switch ground {
        case .never: false
        case .ifSafe: timesSent <= UpstreamRetry.requestAttempts && UpstreamRetry.isSafe(self)
        case .notProcessed: attempts < UpstreamRetry.connectAttempts && replay.isWhole
        }
    }

    private func fail(_ failure: UpstreamFailure) {
        facts.upstreamFailure = failure
        pipeline.answer(failure, self)
    }
}
