// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import COpenSSL
import Glibc

/// How one attempt to fill `inbound` ended.
enum Filling: Equatable {
    /// The socket is empty; the next event tells.
    case drained
    /// The high-water mark was reached.
    case full
    case ended
    case failed(StreamFailure)
}

/// How the input ended, while bytes that came before it wait to be looked at.
enum OwedEnd: Equatable {
    case ended
    case failed(StreamFailure)
}

extension ByteStream {
    /// Reads no more until `resumeReading()`; the kernel's buffer then holds the peer back.
    package func pauseReading() {
        isReadingPaused = true
    }

    /// Reads on; bytes that are still in `inbound` are reported again at the end of the turn.
    package func resumeReading() {
        guard isReadingPaused else { return }
        isReadingPaused = false
        if !inbound.isEmpty { owesReceived = true }
        if owesReceived || owedEnd != nil || mayHaveInput { loop.atEndOfTurn(self) }
    }

    /// Removes `length` bytes from the front of `inbound` and lets reading go on.
    @inline(__always)
    package func consume(_ length: Int) {
        inbound.consume(length)
        inboundConsumed()
    }

    /// To be called after `inbound` was consumed directly outside `streamReceived`.
    ///
    /// Not private, since other modules could not inline `consume` then.
    package func inboundConsumed() {
        if !isReading, mayHaveInput, !isReadingPaused, inbound.count < limits.inboundHighWater {
            loop.atEndOfTurn(self)
        }
    }

    /// Leaves what is in `inbound` for another turn, so that others get theirs: `streamReceived` comes again by itself.
    package func yieldTurn() {
        owesReceived = true
        loop.continueLater(self)
    }

    /// Whether the peer has ended its side or is gone, as far as the kernel knows, which the loop may have to hear yet.
    ///
    /// A system call: for what may be sent once only.
    package var peerHasGone: Bool {
        guard !peerHasEnded else { return true }
        var byte: UInt8 = 0
        let peeked = unsafe recv(descriptor, &byte, 1, CInt(MSG_PEEK))
        return peeked == 0 || peeked < 0 && errno != EAGAIN && errno != EINTR
    }

    var mayHaveInput: Bool { !inboundEnded && (mayRead || mayHoldInput) }

    /// Reports what is left in `inbound` from earlier, then reads on.
    func goOnReading() {
        if owesReceived, !isReadingPaused {
            owesReceived = false
            if !inbound.isEmpty {
                deliver()
                guard phase == .open else { return }
            }
        }
        if let owedEnd, !owesReceived, !isReadingPaused { return report(owedEnd) }
        readAvailable()
    }

    /// Reads until the socket is empty, the owner pauses or lets `inbound` fill up, or it is another stream's turn.
    func readAvailable() {
        var rounds = loop.isCrowded ? 2 : 0
        while phase == .open, !isReadingPaused, !wantsClose, !owesReceived, owedEnd == nil, mayHaveInput,
            inbound.count < limits.inboundHighWater
        {
            if rounds == 4 { return loop.continueLater(self) }
            rounds &+= 1
            let before = inbound.count
            let filling = unsafe ssl == nil ? fillFromSocket() : fillFromTLS()
            if inbound.count > before {
                timer.arm(at: MonotonicInstant(nanoseconds: loop.now.nanoseconds &+ idleNanoseconds))
                deliver()
                guard phase == .open else { return }
            }
            switch filling {
            case .drained, .full: break
            case .ended:
                // What came before the end is looked at first.
                guard owesReceived else { reportEnd(); break }
                owedEnd = .ended
            case .failed(let failure):
                // An answer that came before it too; of a client that is gone nothing is wanted.
                guard isOutgoing, owesReceived || isReadingPaused else { return fail(failure) }
                owedEnd = .failed(failure)
            }
        }
        if wantsClose, phase == .open, mayRead { discardInput() }
        if let brokenBy, phase == .open, !isReadingPaused, !owesReceived, owedEnd == nil, !mayHaveInput {
            fail(brokenBy)
        }
    }

    func deliver() {
        isReading = true
        isParting = false
        owner?.streamReceived(self)
        isReading = false
    }

    private func report(_ end: OwedEnd) {
        owedEnd = nil
        switch end {
        case .ended: reportEnd()
        case .failed(let failure): fail(failure)
        }
    }

    private func reportEnd() {
        inboundEnded = true
        mayRead = false
        owner?.streamEnded(self)
        if let brokenBy, phase == .open { fail(brokenBy) }
    }

    private func fillFromSocket() -> Filling {
        while inbound.count < limits.inboundHighWater {
            var asked = 0
            let received = unsafe inbound.write(minimum: readSize) { room in
                asked = room.count
                return unsafe recv(descriptor, room.baseAddress, room.count, 0)
            }
            if received == asked {
                // The owner sees a first piece before a larger one is read: it may not want more.
                let isGrowing = readSize < 64 << 10
                readSize = min(readSize * 4, 64 << 10)
                if isGrowing { return .full }
            } else if received > 0 {
                if sawPeerEnd { continue }
                mayRead = false
                return .drained
            } else if received == 0 {
                return .ended
            } else if errno == EAGAIN {
                mayRead = false
                return .drained
            } else if errno != EINTR {
                return .failed(StreamFailure(SystemError(errno)))
            }
        }
        return .full
    }

    /// While the last bytes go out, input is thrown away so that the peer's FIN is seen.
    private func discardInput() {
        switch drainSocket() {
        case .drained, .full: break
        case .ended:
            inboundEnded = true
            mayRead = false
        case .failed(let failure): fail(failure)
        }
    }

    /// Throws away what the socket holds; `.full` when the bound for one turn, or for the connection, was reached.
    ///
    /// TCP drops the bytes without a copy where it is told to (`MSG_TRUNC`, tcp(7)); a Unix socket copies what fits.
    func drainSocket() -> Filling {
        unsafe withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { scratch in
            let drops = peer.ipAddress != nil
            for _ in 0..<(loop.isCrowded ? 2 : 4) {
                guard lingerLeft > 0 else { return .full }
                let received =
                    unsafe drops
                    ? recv(descriptor, nil, 64 << 10, CInt(MSG_TRUNC))
                    : recv(descriptor, scratch.baseAddress, scratch.count, 0)
                if received == 0 { return .ended }
                if received < 0 {
                    if errno == EINTR { continue }
                    mayRead = false
                    return errno == EAGAIN ? .drained : .failed(StreamFailure(SystemError(errno)))
                }
                lingerLeft -= received
            }
            return .full
        }
    }
}
