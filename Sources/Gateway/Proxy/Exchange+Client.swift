// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP
import Transport

extension Exchange {
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
    func sendGathered(on connection: any UpstreamSide) {
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
            return pipeline.bodyTooLarge(self)
        }
        if let gathered {
            guard gathered.append(bytes) else { return pipeline.gatheredTooMuch(self, most: gathered.most) }
            return
        }
        guard let upstream else { return }
        if stage == .sending, upstream.canRefuseUnprocessed || UpstreamRetry.isIdempotent(request.method) {
            replay.keep(bytes)
        }
        upstream.sendBody(bytes)
        if upstream.isCongested { client?.pauseBody() }
    }

    /// The request's body is complete.
    func requestBodyEnded(trailers: borrowing FieldTable) {
        requestIsComplete = true
        if trailers.count > 0 { replay.giveUp() }
        if gathered != nil, stage == .judging { return pipeline.advance(self) }
        upstream?.endBody(self, trailers: trailers)
    }

    /// The request's body is malformed or came too slowly: the upstream must not take what it has for the whole.
    ///
    /// Under an answer that has begun only a cut can say so: one more head would be read as part of it.
    func requestBodyFailed(_ violation: HTTPViolation) {
        guard stage == .sending || stage == .leasing || stage == .judging else {
            client?.abort()
            return clientGone(.closedEarly)
        }
        if stage == .leasing { facts.upstreamPool?.withdraw(self) }
        pipeline.refuse(self, violation)
    }

    /// The request's body outgrew its route while its answer was under way.
    func cutAnswer(_ refusal: Refusal) {
        facts.outcome = .refused
        facts.reason = refusal.reason ?? refusal.code.rawValue
        worker.metrics.countRefusal(refusal.code)
        breakOff(with: GRPCEnding.trailers(for: refusal))
        detachUpstream(keep: false)
        finish()
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
}
