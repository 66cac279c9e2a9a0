// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CLinux
import Glibc

/// A connection fresh from accept: whoever takes it must make a stream of it or close it.
package struct AcceptedConnection: Sendable {
    /// Non-blocking and close-on-exec.
    package let descriptor: CInt
    package let peer: SocketAddress

    /// Takes ownership of the descriptor.
    package init(descriptor: CInt, peer: SocketAddress) {
        self.descriptor = descriptor
        self.peer = peer
    }

    /// Closes it unused.
    package func close() {
        Glibc.close(descriptor)
    }
}

/// Takes what a listening socket accepts.
@Reactor
package protocol ConnectionTaker: AnyObject {
    /// Called on the loop, at most `ListeningSocket.acceptsPerTurn` times a turn.
    func connectionAccepted(_ connection: AcceptedConnection, on socket: ListeningSocket)
}

/// A listening socket on the loop.
@Reactor
package final class ListeningSocket: EventSource {
    /// The address the socket is bound to, with the port the kernel chose where 0 was asked for.
    package let address: SocketAddress
    /// Told when accepting stops for a moment because the process or the system ran out of descriptors or memory.
    package var onExhausted: (@Reactor (SystemError) -> Void)?
    private weak var taker: (any ConnectionTaker)?
    private let pause: LoopTimer

    /// So many connections a turn, so that a burst of them does not hold up those that are open.
    private static let acceptsPerTurn = 64
    /// And for so long only: each is given a stream and, where it asks for it, TLS.
    private static let acceptTime: UInt64 = 100_000
    /// As many as the kernel lets wait.
    private static let mostWaiting: CInt = 4096
    private static let exhaustedPause = Duration.milliseconds(100)

    /// Binds and listens; a stale Unix path is replaced.
    package convenience init(loop: EventLoop, address: SocketAddress, backlog: CInt = 4096) throws(SystemError) {
        try self.init(loop: loop, adopting: ListeningDescriptor.open(address, backlog: backlog))
    }

    /// Adopts a listening descriptor, for instance one passed by the supervisor.
    package init(loop: EventLoop, adopting descriptor: CInt) throws(SystemError) {
        address = try ListeningDescriptor.address(of: descriptor)
        pause = LoopTimer(loop: loop, ofProcess: true)
        super.init(loop: loop, descriptor: descriptor)
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 else { throw SystemError(errno) }
        pause.onFire = { [unowned self] in
            if isRegistered { self.loop.setInterest(of: self, isOn: true) }
        }
    }

    /// Begins to accept.
    package func start(taker: any ConnectionTaker) throws(SystemError) {
        self.taker = taker
        try loop.register(self, edgeTriggered: false)
    }

    /// Stops accepting; the descriptor stays open unless `closes`, so that another process can go on with its queue.
    package func stop(closes: Bool = true) {
        pause.cancel()
        loop.deregister(self)
        if closes, descriptor >= 0 {
            Glibc.close(descriptor)
            descriptor = -1
        }
        taker = nil
    }

    /// Takes the connections that wait, then has the kernel refuse whoever comes, whatever other process holds the socket.
    ///
    /// A connection that is left waiting would be reset with the request that its client may have sent.
    package func acceptLast() {
        for _ in 0..<Self.mostWaiting {
            guard isRegistered, let taker, acceptOne(taker) else { break }
        }
        shutdown(descriptor, CInt(SHUT_RD))
    }

    override func ready(_ readiness: Readiness) {
        // Level-triggered: those that wait are reported again.
        if loop.closing.isCrowded { return }
        let began = MonotonicInstant.readClock().nanoseconds
        for _ in 0..<Self.acceptsPerTurn {
            guard isRegistered, let taker, acceptOne(taker) else { return }
            if MonotonicInstant.readClock().nanoseconds &- began > Self.acceptTime { return }
        }
    }

    private func acceptOne(_ taker: any ConnectionTaker) -> Bool {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let accepted = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe sp_accept4(descriptor, $0, &length)
            }
        }
        guard accepted >= 0 else { return mayGoOn(after: errno) }
        let peer = SocketAddress(storage, length: length) ?? address
        taker.connectionAccepted(AcceptedConnection(descriptor: accepted, peer: peer), on: self)
        return true
    }

    private func mayGoOn(after code: CInt) -> Bool {
        switch code {
        case EINTR, ECONNABORTED, EPROTO, ENETDOWN, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT:
            return true
        case EMFILE, ENFILE, ENOBUFS, ENOMEM:
            // Level-triggered: without a pause the loop would spin on what it cannot accept.
            onExhausted?(SystemError(code))
            loop.setInterest(of: self, isOn: false)
            pause.arm(after: Self.exhaustedPause)
            return false
        default:
            return false
        }
    }
}

/// Makes listening descriptors; used by the supervisor, which has no loop, and by `ListeningSocket`.
package enum ListeningDescriptor {
    /// Binds and listens, close-on-exec, with SO_REUSEPORT for TCP; a stale Unix path is replaced.
    package static func open(_ address: SocketAddress, backlog: CInt = 4096) throws(SystemError) -> CInt {
        let descriptor = socket(address.family, CInt(SOCK_STREAM.rawValue) | SocketOptions.nonBlocking, 0)
        guard descriptor >= 0 else { throw SystemError(errno) }
        switch address {
        case .ip(let ip, _):
            SocketOptions.set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
            SocketOptions.set(descriptor, SOL_SOCKET, SO_REUSEPORT, 1)
            if ip.family == .v6 { SocketOptions.set(descriptor, CInt(IPPROTO_IPV6), IPV6_V6ONLY, ip == .v6Any ? 0 : 1) }
        case .unix(let path):
            removeStaleSocket(path)
        }
        let bound = unsafe address.withSockaddr { pointer, length in unsafe bind(descriptor, pointer, length) }
        guard bound == 0, listen(descriptor, backlog) == 0 else {
            let error = SystemError(errno)
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// The address a descriptor is bound to.
    package static func address(of descriptor: CInt) throws(SystemError) -> SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        guard result == 0 else { throw SystemError(errno) }
        guard let address = SocketAddress(storage, length: length) else { throw SystemError(EAFNOSUPPORT) }
        return address
    }

    /// Only a socket on which nobody listens is removed, never a file of another kind.
    private static func removeStaleSocket(_ path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return }
        let probe = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | SocketOptions.nonBlocking, 0)
        guard probe >= 0 else { return }
        defer { close(probe) }
        let answer = unsafe SocketAddress.unix(path: path).withSockaddr { unsafe connect(probe, $0, $1) }
        if answer != 0, errno == ECONNREFUSED { unsafe unlink(path) }
    }
}

extension IPAddress {
    /// `::`, which listens for both families.
    static let v6Any = IPAddress(v6High: 0, low: 0)
}
