// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Transport

extension HTTP1Downstream {
    /// The answer has been written; the next request may be read, or the connection ends.
    func answerWritten() {
        exchange = nil
        wantsBody = false
        disarm()
        if closesAfterAnswer || isProcessing && !body.isComplete { return beginClosing() }
        body.isComplete ? awaitRequest() : discardBody()
    }

    /// The next request may come.
    func awaitRequest() {
        state = .idle
        stream.resumeReading()
        armIdle()
        // A client that asks on without reading its answers waits until it has (`streamDrained`).
        if !stream.inbound.isEmpty { process() }
    }

    /// After a 101: what follows is not HTTP any more, and the connection ends with it.
    func becomeRelay() {
        state = .relaying
        closesAfterAnswer = true
        disarm()
        readBody()
    }

    /// The relay is over: what waits goes out, then the connection ends.
    func closeAfterRelay() {
        exchange = nil
        state = .closing
        stream.closeAfterFlush()
    }

    /// The next answer is the last, as it says itself; a connection without a request waits a moment longer.
    ///
    /// A client that has not heard of the end may just be sending, and an answer under way may have promised it more.
    func drain() {
        isLeaving = true
        if state == .idle { armIdle() }
    }

    /// The client has been idle for as long as it may.
    func idleTooLong() {
        guard stream.outboundCount == 0 else {
            // Requests that are here already wait until the client has read, and the next of them is the last.
            return isLeaving && stream.inbound.isEmpty ? beginClosing() : armForWriting()
        }
        if requests == 0, !isLeaving {
            worker.defences.note(.silentConnection, client: facts.peerText)
            return fail(.idleTimedOut)
        }
        guard worker.loop.now < leaveEnd else {
            worker.defences.note(.slowHead, client: facts.peerText)
            return fail(.idleTimedOut)
        }
        leave()
    }

    /// Closes, unless the next request has come by the time that it can be done; that one is then the last.
    ///
    /// A part of a TLS record keeps the connection open as the beginning of a head does, and for as long at most.
    private func leave() {
        isLeaving = true
        if leaveEnd == .distantFuture { leaveEnd = worker.loop.now.advanced(by: times.header) }
        armIdle()
        stream.closeIfQuiet()
    }

    /// The time to drain has passed.
    func goAway() { exchange?.goAway() }

    func cut(by end: MonotonicInstant) { fail(.drainEnded) }

    func closeIfIdle() -> Bool {
        guard state == .idle, stream.inbound.isEmpty, stream.outboundCount == 0, leaveEnd == .distantFuture else {
            return false
        }
        leave()
        return true
    }

    func close() {
        guard state != .closed else { return }
        state = .closed
        disarm()
        stream.close()
        worker.connectionClosed(self)
    }
}
