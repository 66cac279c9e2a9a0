// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Transport

/// The rest of an upload whose answer went out before all of it had come.
///
/// Nothing in such an answer need say that the connection ends, so a small rest is read and thrown away and the next
/// request is taken; a client that is cut off in its place would lose that request. A large rest is borne for a moment
/// while the connection closes.
extension HTTP1Downstream {
    /// A rest of this size is on its way already when a server answers early; to parse more of it
    /// would be work for nobody.
    private static let mostDiscarded = 256 << 10
    /// As much of an upload that was answered early is thrown away, as long as that takes a moment only.
    private static let mostBorne = HTTP2Settings().drain

    /// The answer is out; throws away what is left of the request.
    func discardBody() {
        state = .discarding
        discarded = 0
        arm(stream.limits.lingerDeadline, .bodyTimedOut)
        stream.resumeReading()
        process()
    }

    /// Throws away what has come of the body; whether something was done.
    func discardSome() -> Bool {
        guard let count = takeBody() else {
            beginClosing()
            return false
        }
        discarded += count
        if body.isComplete {
            disarm()
            closesAfterAnswer ? beginClosing() : awaitRequest()
            return state == .idle
        }
        guard discarded < Self.mostDiscarded else {
            beginClosing()
            return false
        }
        return count > 0
    }

    /// Takes one piece of the body off the buffer; nil where it is malformed.
    private func takeBody() -> Int? {
        do throws(HTTPViolation) {
            let step = try stream.inbound.withBytes { bytes throws(HTTPViolation) in try body.next(bytes) }
            stream.consume(step.consumed)
            return step.consumed
        } catch {
            return nil
        }
    }

    /// What is written goes out, then the connection ends; the rest of an upload nobody wants is not read as a request.
    func beginClosing() {
        disarm()
        state = .closing
        stream.closeAfterFlush(bearing: body.isComplete ? nil : Self.mostBorne)
    }
}
