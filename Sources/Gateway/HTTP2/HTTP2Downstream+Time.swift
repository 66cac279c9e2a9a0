// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

/// Deadlines and the graceful end.
extension HTTP2Downstream {
    var times: TimeoutSettings { worker.snapshot.settings.timeouts }

    // MARK: Deadlines

    /// With streams open the clock is looked at once a second.
    func tickSoon() {
        isTicking = true
        timer.arm(after: .seconds(1))
    }

    func armIdle() {
        isTicking = false
        let limit = session.hasHeardPeer ? times.keepAlive : times.header
        timer.arm(at: idleSince.advanced(by: limit))
    }

    func timerFired() {
        let now = worker.loop.now
        session.tick(now: now.nanoseconds)
        if draining == .announced { decideLast() }
        if let began = session.blockBeganAt, now >= MonotonicInstant(nanoseconds: began).advanced(by: times.header) {
            worker.defences.note(.slowHead, client: facts.peerText)
            return tooSlow(.headTimedOut)
        }
        if isBlocked(now) {
            worker.defences.note(.slowReader, client: facts.peerText)
            stream.reset()
            return close(.writeTimedOut)
        }
        for index in sides.indices.reversed() where index < sides.count { sides[index].check(now: now) }
        outputAppended()
        guard sides.isEmpty else {
            guard isAlive(now) else {
                worker.defences.note(.silentConnection, client: facts.peerText)
                return close(.idleTimedOut)
            }
            return tickSoon()
        }
        let limit = session.hasHeardPeer ? times.keepAlive : times.header
        guard now < idleSince.advanced(by: limit) else { return idleTooLong() }
        session.blockBeganAt == nil && draining == .no ? armIdle() : tickSoon()
    }

    private func idleTooLong() {
        if session.hasHeardPeer, draining == .no { return drain() }
        if !session.hasHeardPeer { worker.defences.note(.silentConnection, client: facts.peerText) }
        session.hasHeardPeer ? session.goAway() : session.terminate(.noError)
        finish(.idleTimedOut)
    }

    private func tooSlow(_ failure: ClientFailure) {
        session.terminate(.enhanceYourCalm)
        finish(failure)
    }

    /// Whether the socket has taken nothing for as long as a client may be idle.
    private func isBlocked(_ now: MonotonicInstant) -> Bool {
        let unsent = stream.outboundCount
        if unsent == 0 || unsent != unsentAtTick { unsentSince = now }
        unsentAtTick = unsent
        return unsent > 0 && now >= unsentSince.advanced(by: times.idle)
    }

    /// A client that has been silent is asked for a sign of life, so that answers are not kept for one that is gone.
    private func isAlive(_ now: MonotonicInstant) -> Bool {
        let interval = Duration.nanoseconds(Int64(clamping: settings.ping))
        if inputEnded { return true }
        if let pingedAt { return now < pingedAt.advanced(by: interval) }
        if now >= heardAt.advanced(by: interval) {
            pingedAt = now
            session.ping()
        }
        return true
    }

    // MARK: The graceful end

    func closeIfIdle() -> Bool {
        guard state == .open, draining == .no, sides.isEmpty, session.blockBeganAt == nil, stream.outboundCount == 0
        else { return false }
        drain()
        return true
    }

    /// Two steps (RFC 9113 6.8): what the client sent before it heard of the end is still served.
    func drain() {
        guard state == .open, draining == .no else { return }
        draining = .announced
        session.announceShutdown()
        session.ping()
        tickSoon()
        outputAppended()
    }

    /// The time to drain has passed.
    func goAway() {
        for side in sides { side.exchange?.goAway() }
        outputAppended()
    }

    /// The client has heard of the end, or a second has passed.
    func decideLast() {
        draining = .decided
        session.goAway()
        outputAppended()
    }

    /// Limits were announced when the connection began; a listener without HTTP/2 serves none.
    func configurationChanged() {
        if worker.snapshot.http2 != settings || !worker.snapshot.servesHTTP2(facts.listener) { drain() }
    }
}
