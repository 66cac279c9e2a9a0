// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Glibc

extension ByteStream {
    /// Makes the socket and begins to connect.
    func openSocket() throws(StreamFailure) {
        descriptor = socket(peer.family, CInt(SOCK_STREAM.rawValue) | SocketOptions.nonBlocking, 0)
        guard descriptor >= 0 else { throw StreamFailure(SystemError(errno)) }
        let result = unsafe peer.withSockaddr { address, length in unsafe connect(descriptor, address, length) }
        phase = .connecting
        mayWrite = false
        if result != 0, errno != EINPROGRESS {
            // A full backlog of a Unix listener gives EAGAIN and no later event.
            throw errno == EAGAIN ? .refused : StreamFailure(SystemError(errno))
        }
        timer.arm(after: limits.connectDeadline)
    }

    func connectFinished() {
        var code: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        guard code == 0 else { return fail(StreamFailure(SystemError(code))) }
        phase = .open
        mayWrite = true
        mayRead = sawPeerEnd
        timer.cancel()
        owner?.streamConnected(self)
        guard phase == .open else { return }
        guard unsafe ssl == nil else {
            beginHandshake()
            return continueHandshake()
        }
        openForBytes()
    }

    /// The first moment at which bytes can flow: what was written or asked for meanwhile is done now.
    func openForBytes() {
        phase = .open
        wantsClose ? armForFlush() : timer.arm(after: limits.idleRelease)
        if !outbound.isEmpty || wantsClose || wantsWriteEnd { loop.atEndOfTurn(self) }
    }
}

/// The socket options this product sets.
enum SocketOptions {
    /// SOCK_NONBLOCK and SOCK_CLOEXEC, which Swift cannot see: on Linux they are these two file flags.
    static let nonBlocking = CInt(O_NONBLOCK) | CInt(O_CLOEXEC)

    static func set(_ descriptor: CInt, _ level: CInt, _ option: CInt, _ value: CInt) {
        var value = value
        unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
    }

    /// Lets `close` reset the connection.
    static func setNoLinger(_ descriptor: CInt) {
        var none = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &none, socklen_t(MemoryLayout<linger>.size))
    }

    /// Before the handshake: Nagle's algorithm would cost it 40 ms.
    ///
    /// And the kernel is to keep little that it cannot send yet: for a peer that does not read it would be megabytes,
    /// which take a millisecond to throw away.
    static func setForTraffic(_ descriptor: CInt, _ peer: SocketAddress) {
        guard peer.ipAddress != nil else { return }
        set(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, 1)
        set(descriptor, CInt(IPPROTO_TCP), TCP_NOTSENT_LOWAT, mostUnsent)
    }

    private static let mostUnsent: CInt = 1 << 20
}
