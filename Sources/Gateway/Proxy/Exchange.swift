// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP
import Limits
import Store
import Telemetry
import Transport

/// One request and its answer, from the judged head to the last byte, over one client side and at most one upstream
/// connection at a time.
///
/// Isolated to the Reactor and pooled: `Worker` hands exchanges out and takes them back, so that a request allocates
/// nothing of its own. Everything the phases and both sides need to know of the request is here; who may act when is
/// said by `stage`.
@Reactor
final class Exchange {
    /// Where the exchange stands.
    ///
    /// Each stage names what is still owed.
    enum Stage {
        /// In the free list.
        case idle
        /// The pipeline runs, or waits for state. Can become: leasing, answering, finished.
        case judging
        /// Waits for an upstream connection. Can become: sending, answering, finished.
        case leasing
        /// The request is on its way and no final head has come. Can become: leasing (a retry), answering, finished.
        case sending
        /// A final head was relayed or a local answer was given. Can become: relaying, finished.
        case answering
        /// After a 101: bytes pass both ways untouched. Can become: finished.
        case relaying
        /// Both sides are done with. Can become: idle.
        case finished
    }

    let worker: Worker
    private(set) var stage = Stage.idle
    private(set) var client: (any ClientSide)?
    private(set) var upstream: (any UpstreamSide)?

    var request = RequestHead()
    private(set) var requestIsComplete = false
    /// The body, where somebody reads it whole before the request goes on.
    private var gathered: GatheredBody?

    var response = ResponseHead()

    var facts = ExchangeFacts()
    /// The windows of the request; not touched while they are being spent.
    private(set) var charge = WindowCharge()
    private(set) var budget = Budget.unspent
    /// Changes every time the exchange is taken, so that what resumes late sees that it is too late.
    private(set) var generation: UInt64 = 0

    /// Its place among the open streams.
    var openIndex: Int?

    /// The client waits to be told to send its body.
    var continueWait: ContinueWait?
    private var attempts = 0
    private var replay = RequestReplay()
    private(set) var triedEndpoint: UpstreamEndpoint?

    /// The side of a relay that has ended first.
    private var relayEnd: RelaySide?

    /// The two ends of a relay.
    enum RelaySide {
        case client, upstream
    }

    /// What became of the request's windows.
    enum Budget {
        case unspent
        case spending
        case answered(StoreError?)
    }

    init(worker: Worker) {
        self.worker = worker
    }

    // MARK: Opening

    /// The head in `request` was read; judging begins.
    func begin(client: any ClientSide, connection: ClientConnectionFacts) {
        precondition(stage == .idle, "an exchange is begun once")
        generation &+= 1
        stage = .judging
        self.client = client
        requestIsComplete = !request.framing.hasBody
        facts.connection = connection
        facts.startedAt = worker.loop.now
        connection.share?.requests += 1
        worker.metrics.inFlight.add(1)
        worker.pipeline.advance(self)
    }

    /// The head is malformed: it is answered and recorded, never judged.
    func beginRefused(_ violation: HTTPViolation, client: any ClientSide, connection: ClientConnectionFacts) {
        generation &+= 1
        stage = .judging
        self.client = client
        requestIsComplete = true
        facts.connection = connection
        facts.startedAt = worker.loop.now
        connection.share?.requests += 1
        worker.metrics.inFlight.add(1)
        worker.pipeline.refuse(self, violation)
    }

    /// The pipeline admitted the request: find a connection.
    func forward() {
        stage = .leasing
        facts.forwardedAt = worker.loop.now
        if request.fields.contains(.grpcTimeout), let limit = request.grpcTimeout {
            facts.deadline = min(facts.deadline ?? .distantFuture, facts.startedAt.advanced(by: limit))
        }
        lease(fresh: false)
    }

    private func lease(fresh: Bool) {
        attempts += 1
        facts.upstreamPool?.lease(for: self, fresh: fresh)
    }

    /// Answers in the upstream's place and ends the exchange.
    func respond(_ answer: LocalAnswer) {
        guard let client, stage != .finished, stage != .idle else { return }
        stage = .answering
        facts.status = answer.status
        detachUpstream(keep: false)
        var answer = answer
        if facts.check?.leavesBodyOut == true { answer.body = [] }
        client.sendLocal(answer, for: self)
        finish()
    }

    // MARK: Budget

    /// The windows are on their way to Redis.
    func budgetSent() { budget = .spending }

    /// Redis counted, or says why not.
    func budgetAnswered(_ failure: StoreError?) { budget = .answered(failure) }

    // MARK: A body read whole

    /// Whether the body is being, or has been, read whole before the request goes on.
    var isGathering: Bool { gathered != nil }

    /// The body that was read whole; empty when nobody asked for it.
    var gatheredBody: [UInt8] { gathered?.bytes ?? [] }

    /// Takes the body into memory; the present phase runs again when it is complete.
    func gatherBody(atMost most: Int) {
        gathered = GatheredBody(most: most)
        if request.expectsContinue { client?.sendContinue() }
        client?.readBody()
    }

    /// The very bytes that were read go to the upstream; trailers of a body read whole are not kept.
    private func sendGathered(on connection: any UpstreamSide) {
        guard let gathered else { return }
        let bytes = gathered.bytes
        if !bytes.isEmpty { connection.sendBody(bytes.span) }
        gathered.withTrailers { connection.endBody(self, trailers: $0) }
    }

    // MARK: The client's side

    /// Part of the request's body; only while `readBody` is in force.
    func requestBodyReceived(_ bytes: Span<UInt8>) {
        facts.bytesIn &+= bytes.count
        continueWait?.end()
        if let route = facts.route, facts.bytesIn > route.settings.body.bytes {
            return worker.pipeline.bodyTooLarge(self)
        }
        if let gathered {
            guard gathered.append(bytes) else { return worker.pipeline.gatheredTooMuch(self, most: gathered.most) }
            return
        }
        guard let upstream else { return }
        if stage == .sending, upstream.canRefuseUnprocessed { replay.keep(bytes) }
        upstream.sendBody(bytes)
        if upstream.isCongested { client?.pauseBody() }
    }

    /// The request's body is complete.
    func requestBodyEnded(trailers: borrowing FieldTable) {
        requestIsComplete = true
        if trailers.count > 0 { replay.giveUp() }
        if gathered != nil, stage == .judging { return worker.pipeline.advance(self) }
        upstream?.endBody(self, trailers: trailers)
    }

    /// The request's body is malformed or came too slowly: the upstream must not take what it has for the whole.
    func requestBodyFailed(_ violation: HTTPViolation) {
        guard stage == .sending || stage == .leasing || stage == .judging else { return clientGone(.closedEarly) }
        if stage == .leasing { facts.upstreamPool?.withdraw(self) }
        worker.pipeline.refuse(self, violation)
    }

    /// The client went away, or broke its own framing.
    ///
    /// Nothing more is sent to it.
    func clientGone(_ reason: ClientFailure) {
        guard stage != .finished, stage != .idle else { return }
        facts.clientFailure = reason
        if stage == .leasing { facts.upstreamPool?.withdraw(self) }
        if stage == .relaying {
            upstream?.endRelay()
            upstream = nil
        }
        detachUpstream(keep: false)
        finish()
    }

    /// What waited to be sent to the client has gone out.
    func clientDrained() {
        upstream?.resumeReading()
    }

    /// Bytes of the client after a switch of protocols.
    func relayedFromClient(_ bytes: Span<UInt8>) {
        facts.bytesIn &+= bytes.count
        guard let upstream else { return }
        upstream.sendRelayed(bytes)
        if upstream.isCongested { client?.pauseBody() }
    }

    /// One side of a relay has sent all it has; the relay ends with the other.
    func relayEnded(by side: RelaySide) {
        guard stage == .relaying else { return }
        guard relayEnd == nil || relayEnd == side else {
            upstream?.endRelay()
            upstream = nil
            client?.abort()
            return finish()
        }
        relayEnd = side
        switch side {
        case .client: upstream?.finishRelay()
        case .upstream: client?.finishRelay()
        }
    }

    // MARK: The upstream's side

    /// `connection` is ready to carry the request.
    func upstreamReady(_ connection: any UpstreamSide) {
        guard stage == .leasing, let client else { return connection.abandon() }
        stage = .sending
        upstream = connection
        triedEndpoint = connection.endpoint
        facts.upstreamLabel = connection.endpoint.settings.text
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
            return lease(fresh: false)
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
    }

    /// The final head is in `response`.
    func responseHeadArrived() {
        stage = .answering
        facts.firstByteAt = worker.loop.now
        facts.status = response.status
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

    /// The rest of the frame that is under way, then the end.
    private func relayEnding(_ bytes: Span<UInt8>, to client: any ClientSide) {
        let count = facts.frames.advanceToBoundary(bytes)
        client.sendRelayed(bytes.extracting(0..<count))
        endStream(insists: false)
    }

    /// The credential has ended, and so does the answer; a WebSocket is told why, between two frames of its upstream,
    /// unless one of them goes on for too long.
    func endStream(insists: Bool) {
        guard let ending = facts.endingStream, let client else { return }
        switch stage {
        case .relaying:
            guard facts.frames.isAtBoundary || insists else { return }
            if facts.frames.isAtBoundary, !facts.frames.hasClosed {
                let frame = WebSocketFrames.close(code: Self.unauthorizedClose, reason: ending.rawValue)
                client.sendRelayed(frame.span)
            }
            upstream?.endRelay()
            upstream = nil
            client.endRelay()
        case .answering:
            if request.isGRPC, response.endsWithGRPCTrailers {
                client.sendEnd(self, trailers: GRPCEnding.trailers(for: ending))
            } else {
                client.abort()
            }
            detachUpstream(keep: false)
        case .sending:
            // A call that talks before it is answered: the refusal is the whole answer.
            worker.metrics.count(ending)
            return worker.pipeline.end(self, ending)
        case .idle, .judging, .leasing, .finished:
            return
        }
        facts.reason = ending.rawValue
        worker.metrics.count(ending)
        finish()
    }

    /// Private use (RFC 6455 7.4.2), made like 401: the credential is good no more.
    private static let unauthorizedClose: UInt16 = 4401

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
            lease(fresh: true)
        case .sending, .leasing:
            fail(failure)
        case .answering where facts.signIn?.held != nil:
            // Nothing of it has gone out: the client gets a whole answer.
            facts.signIn?.held = nil
            fail(failure)
        case .answering:
            facts.upstreamFailure = failure
            facts.outcome = .failed
            if request.isGRPC, response.endsWithGRPCTrailers {
                client?.sendEnd(self, trailers: GRPCEnding.trailers(for: failure))
            } else {
                client?.abort()
            }
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
        case .ifSafe: attempts <= UpstreamRetry.requestAttempts && UpstreamRetry.isSafe(self)
        case .notProcessed: attempts < UpstreamRetry.connectAttempts && replay.isWhole
        }
    }

    private func fail(_ failure: UpstreamFailure) {
        facts.upstreamFailure = failure
        worker.pipeline.answer(failure, self)
    }

    private func detachUpstream(keep: Bool) {
        guard let connection = upstream else { return }
        upstream = nil
        if keep { connection.release() } else { connection.abandon() }
    }

    // MARK: Ending

    /// Runs exactly once for each exchange: the record is written, the exchange goes back to the free list.
    private func finish() {
        if stage == .relaying { worker.metrics.openWebSockets.add(-1) }
        stage = .finished
        continueWait?.end()
        // A sign-in that never reached the upstream was not completed.
        if facts.upstreamLabel == nil { worker.signIn.giveBack(facts.signIn?.grant, facts.decision.text) }
        worker.state.streams.remove(self)
        facts.connection?.share?.requests -= 1
        record()
        client = nil
        worker.recycle(self)
    }

    /// Makes the exchange new again; only the free list calls this.
    func reset() {
        stage = .idle
        client = nil
        upstream = nil
        triedEndpoint = nil
        continueWait = nil
        attempts = 0
        relayEnd = nil
        replay.reset()
        requestIsComplete = false
        gathered = nil
        request.reset()
        response.reset()
        facts = ExchangeFacts()
        if case .spending = budget { charge = WindowCharge() } else { charge.removeAll() }
        budget = .unspent
    }
}

/// How often a request is tried.
enum UpstreamRetry {
    /// Connections tried before the client hears of it; nothing was sent on any of them.
    static let connectAttempts = 3
    /// A request that was sent is sent at most once more (B57, B58), unless the upstream says it did nothing about it.
    static let requestAttempts = 1

    /// Why a request that failed could be sent again.
    enum Ground {
        case never
        /// The connection was closed silently, as idle ones are: what changes nothing may be sent again.
        case ifSafe
        /// The upstream says that it did nothing about the request (RFC 9113 8.7).
        case notProcessed
    }

    /// Whether sending the request twice changes nothing: a safe method, or PUT and DELETE without a body.
    @Reactor
    static func isSafe(_ exchange: Exchange) -> Bool {
        guard !exchange.request.framing.hasBody else { return false }
        switch exchange.request.method {
        case .get, .head, .options, .put, .delete: return true
        case .post, .patch, .trace, .connect, .other: return false
        }
    }
}
