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
    let pipeline: RequestPipeline
    var stage = Stage.idle
    var client: (any ClientSide)?
    var upstream: (any UpstreamSide)?

    var request = RequestHead()
    var requestIsComplete = false
    /// The body, where somebody reads it whole before the request goes on.
    var gathered: GatheredBody?

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
    var attempts = 0
    var replay = RequestReplay()
    /// The endpoint that was asked last, or could not be.
    var triedEndpoint: UpstreamEndpoint?
    /// How often the request went to an upstream.
    var timesSent = 0
    var wasSent: Bool { timesSent > 0 }
    /// A kept connection was lost under the request: it is sent again on a new one only.
    private(set) var wantsFresh = false
    /// When the connection that is waited for now must be there, wherever the time goes.
    private(set) var leaseEnd = MonotonicInstant.distantFuture

    /// The side of a relay that has ended first.
    var relayEnd: RelaySide?

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
        self.pipeline = worker.pipeline
    }

    /// With whom the client takes turns.
    var lane: UInt8 { facts.connection?.lane ?? 0 }

    // MARK: Opening

    /// The head in `request` was read; judging begins.
    func begin(client: any ClientSide, connection: ClientConnectionFacts) {
        requestIsComplete = !request.framing.hasBody
        open(client, connection)
        pipeline.advance(self)
    }

    /// The head is malformed: it is answered and recorded, never judged.
    func beginRefused(_ violation: HTTPViolation, client: any ClientSide, connection: ClientConnectionFacts) {
        requestIsComplete = true
        open(client, connection)
        pipeline.refuse(self, violation)
    }

    @inline(__always)
    private func open(_ client: any ClientSide, _ connection: ClientConnectionFacts) {
        precondition(stage == .idle, "an exchange is begun once")
        generation &+= 1
        stage = .judging
        self.client = client
        facts.connection = connection
        facts.startedAt = worker.loop.now
        connection.share?.requests += 1
        worker.metrics.inFlight.add(1)
    }

    /// The pipeline admitted the request: find a connection.
    func forward() {
        stage = .leasing
        facts.forwardedAt = worker.loop.now
        if request.fields.contains(.grpcTimeout), let limit = request.grpcTimeout {
            let end = facts.startedAt.advanced(by: limit)
            facts.callEnd = end
            facts.deadline = min(facts.deadline ?? end, end)
        }
        lease(fresh: false)
    }

    func lease(fresh: Bool) {
        attempts += 1
        wantsFresh = fresh
        leaseEnd = worker.loop.now.advanced(by: facts.timeouts.connect)
        facts.upstreamPool?.lease(for: self)
    }

    /// Whether more than half of the time for a connection has gone into waiting for a place.
    var hasLittleTimeToConnect: Bool {
        leaseEnd.duration(since: worker.loop.now) * 2 < facts.timeouts.connect
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

    // MARK: Ending

    func detachUpstream(keep: Bool) {
        guard let connection = upstream else { return }
        upstream = nil
        if keep { connection.release() } else { connection.abandon() }
    }

    /// Runs exactly once for each exchange: the record is written, the exchange goes back to the free list.
    func finish() {
        if stage == .relaying { worker.metrics.openWebSockets.add(-1) }
        stage = .finished
        continueWait?.end()
        // A sign-in that never reached the upstream was not completed.
        if !wasSent { worker.signIn.giveBack(facts.signIn?.grant, facts.decision.text) }
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
        timesSent = 0
        wantsFresh = false
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
