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
        arm(times.keepAlive, .idleTimedOut)
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

    /// Draining: an idle connection ends now, a busy one after its answer.
    func drain() {
        guard state == .idle, stream.inbound.isEmpty else { return closesAfterAnswer = true }
        // The last answer may not have left yet.
        stream.outboundCount == 0 ? close() : beginClosing()
    }

    /// The time to drain has passed.
    func goAway() { exchange?.goAway() }

    func cut(by end: MonotonicInstant) { fail(.drainEnded) }

    /// Closes a connection that waits for a request and owes nothing; false where it does not.
    func closeIfIdle() -> Bool {
        guard state == .idle, stream.inbound.isEmpty, stream.outboundCount == 0 else { return false }
        close()
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
