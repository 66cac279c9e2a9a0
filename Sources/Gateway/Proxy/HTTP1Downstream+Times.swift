// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

extension HTTP1Downstream {
    func timerFired() {
        switch timeout {
        case .headTimedOut where state == .readingHead:
            worker.defences.note(.slowHead, client: facts.peerText)
            if let exchange { refuse(.tooSlow, exchange) }
        case .bodyTimedOut where state == .exchanging:
            worker.defences.note(.slowBody, client: facts.peerText)
            if let exchange { bodyViolated(.tooSlow, exchange) }
        case .bodyTimedOut where state == .discarding:
            beginClosing()
        case .idleTimedOut where state == .idle:
            idleTooLong()
        case .writeTimedOut:
            writeTimedOut()
        case .closedEarly, .idleTimedOut, .headTimedOut, .bodyTimedOut, .drainEnded:
            fail(timeout)
        }
    }

    func arm(_ delay: Duration, _ failure: ClientFailure) {
        disarm()
        timeout = failure
        timer.arm(after: delay)
    }

    /// The next request is due: of a client that is to leave only one that is on its way already.
    func armIdle() { arm(isLeaving ? Self.lastMoment : times.keepAlive, .idleTimedOut) }

    /// A round trip to most clients: what they send before they have heard of the end arrives in it.
    private static let lastMoment = Duration.milliseconds(100)

    /// Bytes of the body are due; those that came give it more time.
    func armForBody(progressed bytes: Int) {
        let now = worker.loop.now
        bodyLimit = bytes > 0 ? reading.progressed(bytes, at: now, times) : reading.wait(from: now, times)
        armForEarlier()
    }

    /// No bytes of the body are due; what waits for the client goes on being due.
    func bodyIsNotDue() {
        bodyLimit = .distantFuture
        armForEarlier()
    }

    /// The client has to take something of what waits for it.
    func armForWriting() {
        unsentAtArming = stream.outboundCount
        stream.tellWhenDrained()
        writeLimit = writing.wait(from: worker.loop.now, times)
        armForEarlier()
    }

    /// A client may owe the rest of its request and take nothing of its answer, each within a time of its own.
    private func armForEarlier() {
        timeout = writeLimit < bodyLimit ? .writeTimedOut : .bodyTimedOut
        timer.arm(at: min(writeLimit, bodyLimit))
    }

    /// Nothing is due of the client.
    func disarm() {
        bodyLimit = .distantFuture
        writeLimit = .distantFuture
        timer.cancel()
    }

    private func writeTimedOut() {
        let taken = unsentAtArming - stream.outboundCount
        if taken > 0 {
            let now = worker.loop.now
            if writing.progressed(taken, at: now, times) > now { return armForWriting() }
        }
        if state == .idle, stream.outboundCount == 0 { return fail(.idleTimedOut) }
        worker.defences.note(.slowReader, client: facts.peerText)
        stream.reset()
        fail(.writeTimedOut)
    }

    /// The client has taken most of what waited for it.
    func writingEased() {
        guard writeLimit != .distantFuture else { return }
        writeLimit = .distantFuture
        _ = writing.progressed(unsentAtArming - stream.outboundCount, at: worker.loop.now, times)
        writing.pause(at: worker.loop.now)
        state == .idle ? armIdle() : armForEarlier()
    }
}
