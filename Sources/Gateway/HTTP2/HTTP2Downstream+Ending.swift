// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Telemetry
import Transport

/// How the connection ends: by the client, by what it did, or by us.
extension HTTP2Downstream {
    /// A client may close its writing half with its requests, even in one packet: those that came whole are answered as
    /// far as its windows reach.
    func streamEnded(_ stream: ByteStream) {
        guard state == .open else { return }
        inputEnded = true
        for side in sides { side.inputEnded() }
        // Nobody answers it, but the reset of a client that is gone altogether ends what would be done for nobody.
        if !sides.isEmpty { session.ping() }
        outputAppended()
    }

    func streamClosed(_ stream: ByteStream, _ failure: StreamFailure?) {
        if failure == .flushDeadlinePassed { worker.defences.note(.slowReader, client: facts.peerText) }
        close(.closedEarly)
    }

    /// The client broke the protocol or did too much: it is told why and cut off.
    func end(_ failure: HTTP2Failure) {
        guard state == .open else { return }
        switch failure {
        case .flood(let flood): worker.flooded(flood, by: facts)
        case .broken: worker.defences.note(.http2Protocol, client: facts.peerText)
        }
        finish()
    }

    /// What is left to say goes out, then the connection ends.
    func finish(_ failure: ClientFailure = .closedEarly) {
        guard state == .open else { return }
        state = .closing
        ending = failure
        abandonExchanges(failure)
        do { try session.send(into: &stream.outbound, limit: Self.gatherSize) } catch {
            // The reason is in the buffer already, or there is none to give.
        }
        timer.cancel()
        stream.outboundAppended()
        stream.closeAfterFlush()
    }

    /// Ends the connection at once.
    func close(_ failure: ClientFailure) {
        guard state != .closed else { return }
        if state == .open { ending = failure }
        state = .closed
        timer.cancel()
        stream.close()
        abandonExchanges(failure)
    }

    /// Ends what is under way, for a tenth of a millisecond a turn: each request may have a connection to close, and
    /// buffers to free.
    ///
    /// The connection counts until the last of them has ended.
    private func abandonExchanges(_ failure: ClientFailure, until end: MonotonicInstant? = nil) {
        let end = end ?? MonotonicInstant.readClock().advanced(by: .microseconds(100))
        while let side = sides.last {
            side.end(failure)
            remove(side)
            if MonotonicInstant.readClock() > end { break }
        }
        if sides.isEmpty {
            if state == .closed { worker.connectionClosed(self) }
        } else if !isAbandoning {
            isAbandoning = true
            LoopTurn.later(on: worker.loop, lane: facts.lane) { [self] in
                isAbandoning = false
                abandonExchanges(failure)
            }
        }
    }

    /// The time to drain is over.
    func cut(by end: MonotonicInstant) {
        close(.drainEnded)
        abandonExchanges(.drainEnded, until: end)
    }
}
