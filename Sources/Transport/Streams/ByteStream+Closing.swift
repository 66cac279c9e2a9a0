// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import COpenSSL
import Glibc

extension ByteStream {
    /// Closes at once; unsent bytes are lost and the owner hears nothing more.
    package func close() {
        guard phase != .closed else { return }
        if phase == .open, !resetsOnClose, outbound.isEmpty, wire.isEmpty, startFailure == nil { notifyClose() }
        owner = nil
        tearDown()
    }

    /// Closes at once with a reset: what the kernel keeps for a peer that does not read goes too.
    ///
    /// After an ordinary close the kernel would go on offering it, megabytes for each connection, for as long as the
    /// peer takes a byte now and then.
    package func reset() {
        resetsOnClose = true
        close()
    }

    /// Closes when it can be done at once, which `streamClosed` tells; bytes that have come by then are handed on instead,
    /// and the stream stays open.
    ///
    /// For a peer that may be about to speak: nothing that the kernel has acknowledged to it goes unread. A TLS record of
    /// which only a part has come keeps the stream open too.
    package func closeIfQuiet() {
        guard phase == .open, !wantsClose, !isParting else { return }
        isParting = true
        loop.closeInTurn(self)
    }

    func closeNowIfQuiet() {
        guard isParting, phase == .open, !wantsClose, !isReadingPaused else { return isParting = false }
        mayRead = true
        goOnReading()
        guard isParting, phase == .open, !wantsClose else { return }
        isParting = false
        guard inbound.isEmpty, outboundCount == 0, !holdsPartOfRecord else { return }
        notifyClose()
        let owner = owner
        self.owner = nil
        tearDown(now: true)
        owner?.streamClosed(self, nil)
    }

    /// Ends our side once everything written is sent; reading goes on.
    package func closeWrite() {
        guard phase == .open || phase == .handshaking || phase == .connecting else { return }
        wantsWriteEnd = true
        loop.atEndOfTurn(self)
    }

    /// Sends what is written, ends our side, throws further input away for a moment and closes: `streamClosed` follows.
    ///
    /// The moment of listening on keeps the last answer from being lost to the reset that unread input would cause.
    ///
    /// `bearing` is for a peer in the middle of an upload, which must be let run out: browsers
    /// miss the answer otherwise.
    package func closeAfterFlush(bearing bytes: Int? = nil) {
        guard phase != .closed, phase != .lingering, !wantsClose else { return }
        wantsClose = true
        lingerLeft = bytes ?? limits.lingerBytes
        if phase == .open { armForFlush() }
        loop.atEndOfTurn(self)
    }

    /// Closes with the reason and tells the owner.
    func fail(_ failure: StreamFailure) {
        guard phase != .closed else { return }
        end(failure)
    }

    /// Tells the owner, and lets the alert just sent reach the peer before the socket goes.
    func failSecurely(_ failure: StreamFailure) {
        sendWire()
        guard case .tls = failure else { return fail(failure) }
        let owner = owner
        self.owner = nil
        wasReported = true
        phase = .lingering
        isHeavy = true
        lingerLeft = limits.lingerBytes
        shutdown(descriptor, CInt(SHUT_WR))
        timer.arm(after: limits.lingerDeadline)
        mayRead = true
        owner?.streamClosed(self, failure)
        linger()
    }

    /// Closes in order and tells the owner.
    func finish() {
        end(nil)
    }

    private func end(_ failure: StreamFailure?) {
        let owner = owner
        self.owner = nil
        tearDown()
        owner?.streamClosed(self, failure)
    }

    private func tearDown(now: Bool = false) {
        phase = .closed
        timer.cancel()
        if descriptor >= 0 {
            if resetsOnClose { SocketOptions.setNoLinger(descriptor) }
            now ? loop.closeNow(self) : loop.close(self)
        }
        unsafe SSL_free(ssl)
        unsafe ssl = nil
        loop.buffersReleased()
    }

    /// Ends our side; false while close_notify still waits for the socket, a later flush comes back here.
    @discardableResult
    func endWriting() -> Bool {
        guard !writeEnded else { return true }
        if !closeNotified {
            closeNotified = true
            notifyClose()
        }
        guard wire.isEmpty else { return false }
        writeEnded = true
        shutdown(descriptor, CInt(SHUT_WR))
        return true
    }

    func beginLingering() {
        guard endWriting() else { return }
        guard !inboundEnded else { return finish() }
        phase = .lingering
        // What is thrown away waits behind what is not: a flood of it costs the kernel milliseconds.
        isHeavy = true
        timer.arm(after: limits.lingerDeadline)
        // Many may listen on for their moment at once, and nothing is kept of what they hear.
        inbound.release()
        outbound.release()
        wire.release()
        linger()
    }

    func linger() {
        guard mayRead else { return }
        switch drainSocket() {
        case .drained: if lingerLeft <= 0 { finish() }
        case .full: lingerLeft <= 0 ? finish() : loop.continueLater(self)
        case .ended, .failed: finish()
        }
    }

    /// epoll reported an error, which a paused stream would not meet by reading; a server's last words are waited for.
    func reportSocketError() {
        guard isReadingPaused && !isOutgoing || inboundEnded || wantsClose else { return goOnReading() }
        var code: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        if code != 0 { fail(StreamFailure(SystemError(code))) }
    }
}
