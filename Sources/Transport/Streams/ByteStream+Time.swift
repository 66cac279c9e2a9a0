// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import COpenSSL

/// What a stream does when its time has come.
extension ByteStream {
    func timerFired() {
        switch phase {
        case .connecting: fail(.connectDeadlinePassed)
        case .handshaking: fail(.handshakeDeadlinePassed)
        case .open: wantsClose ? flushStalled() : releaseIdleBuffers()
        case .lingering: finish()
        case .idle, .closed: break
        }
    }

    /// From `closeAfterFlush()` on the peer has so long to take something, and so long to take all.
    func armForFlush() {
        if flushEnd == .distantFuture { flushEnd = loop.now.advanced(by: limits.flushPatience) }
        unsentAtArming = outboundCount
        timer.arm(at: min(loop.now.advanced(by: limits.flushDeadline), flushEnd))
    }

    private func flushStalled() {
        guard outboundCount < unsentAtArming, loop.now < flushEnd else {
            resetsOnClose = true
            return fail(.flushDeadlinePassed)
        }
        armForFlush()
    }

    /// Gives empty buffers back; the next byte allocates them again.
    private func releaseIdleBuffers() {
        guard inbound.isEmpty, outbound.isEmpty, wire.isEmpty else { return timer.arm(after: limits.idleRelease) }
        inbound.release()
        outbound.release()
        wire.release()
        readSize = 4096
        if let ssl = unsafe ssl { unsafe SSL_free_buffers(ssl) }
        loop.buffersReleased()
    }
}
