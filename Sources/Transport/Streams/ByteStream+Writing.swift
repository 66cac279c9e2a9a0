// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import COpenSSL
import Glibc

extension ByteStream {
    /// The number of bytes not yet handed to the kernel.
    package var outboundCount: Int { outbound.count &+ wire.count }

    /// Whether the owner should stop producing until `streamDrained`, which will come.
    package var isCongested: Bool {
        outboundCount > (loop.isMemoryShort ? limits.outboundLowWater : limits.outboundHighWater)
    }

    /// Appends a copy of `bytes`, sent at the end of the turn; dropped on a closed stream.
    @inline(__always)
    package func write(_ bytes: Span<UInt8>) {
        outbound.append(bytes)
        outboundAppended()
    }

    /// Appends the bytes of a literal.
    package func write(_ literal: StaticString) {
        outbound.append(literal)
        outboundAppended()
    }

    /// Hands the first `length` bytes of `inbound` on to `other`, for bodies that pass through.
    package func move(_ length: Int, to other: ByteStream) {
        other.write(inbound.bytes.extracting(first: length))
        consume(length)
    }

    /// To be called after bytes were appended to `outbound` directly.
    package func outboundAppended() {
        guard phase != .closed, phase != .lingering, brokenBy == nil else { return outbound.removeAll() }
        loop.atEndOfTurn(self)
        if outbound.count >= limits.earlyFlush, phase == .open, mayWrite { send() }
        noteLevel()
    }

    /// From the lower mark on the owner may find the stream congested: memory can become short before it asks.
    @inline(__always)
    private func noteLevel() {
        if outboundCount > limits.outboundLowWater { owesDrained = true }
    }

    /// Lets `streamDrained` come when the socket has taken more, however little is left by now.
    package func tellWhenDrained() { owesDrained = true }

    /// Sends what is written now instead of at the end of the turn; `streamDrained` follows where the
    /// socket does not take all of it.
    package func flushNow() {
        guard phase == .open else { return loop.atEndOfTurn(self) }
        send()
        if outboundCount > 0 { owesDrained = true }
    }

    /// Sends, then does what waited for the output to be gone.
    func flush() {
        send()
        guard phase == .open else { return }
        if outbound.isEmpty, wire.isEmpty {
            if wantsClose { return beginLingering() }
            if wantsWriteEnd { endWriting() }
        }
        // What is encrypted is a little more than what was written.
        noteLevel()
        if owesDrained, outboundCount <= limits.outboundLowWater {
            owesDrained = false
            owner?.streamDrained(self)
        }
    }

    /// Hands `outbound` to the socket; errors wait in `startFailure` so that no callback comes from inside a write.
    private func send() {
        guard unsafe ssl == nil else { return sendThroughTLS() }
        while !outbound.isEmpty, mayWrite {
            let sent = transmit(outbound.bytes)
            guard sent >= 0 else { return }
            outbound.consume(sent)
        }
    }

    /// One send; 0 when the socket is full or the failure was noted.
    func transmit(_ bytes: Span<UInt8>) -> Int {
        while true {
            let sent = unsafe bytes.withUnsafeBufferPointer { buffer in
                unsafe Glibc.send(descriptor, buffer.baseAddress, buffer.count, CInt(MSG_NOSIGNAL))
            }
            if sent >= 0 { return sent }
            switch errno {
            case EINTR: continue
            case EAGAIN: mayWrite = false
            default: noteFailure(StreamFailure(SystemError(errno)))
            }
            return 0
        }
    }

    /// Remembers a failure met while sending and reports it at the end of the turn.
    func noteFailure(_ failure: StreamFailure) {
        mayWrite = false
        if startFailure == nil { startFailure = failure }
        loop.atEndOfTurn(self)
    }

    /// Nothing can be sent any more.
    ///
    /// What a server said before that may be the answer to what it did not want to hear: it is read to its end first,
    /// however slowly it is taken.
    func sendingFailed(_ failure: StreamFailure) {
        guard phase == .open, isOutgoing, !wantsClose, !inboundEnded else { return fail(failure) }
        brokenBy = brokenBy ?? failure
        outbound.removeAll()
        wire.removeAll()
        mayRead = true
        goOnReading()
    }

    /// Sends `wire`, the bytes that are already as the peer will see them.
    func sendWire() {
        while !wire.isEmpty, mayWrite {
            wire.consume(transmit(wire.bytes))
        }
    }
}
