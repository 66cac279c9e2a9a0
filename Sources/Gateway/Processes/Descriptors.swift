// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// Descriptors that live across a spawn: above 100, so that a child's own never collide with them.
enum Descriptors {
    private static let floor: CInt = 100

    /// Moves a descriptor above 100, close-on-exec, and closes the low one.
    static func keep(_ descriptor: CInt) -> CInt {
        guard descriptor >= 0, descriptor < floor else { return descriptor }
        let moved = fcntl(descriptor, F_DUPFD_CLOEXEC, floor)
        guard moved >= 0 else { return descriptor }
        close(descriptor)
        return moved
    }

    static func setNonBlocking(_ descriptor: CInt) {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    /// Has the kernel's table of our descriptors hold `count` from now on, as far as the limit allows.
    ///
    /// It would grow by doubling, and each growth waits for all processors once there are threads: ten milliseconds in
    /// which a worker's loop stands still, six times on the way to two thousand connections.
    static func reserve(_ count: Int) {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        let highest = min(UInt64(clamping: count), UInt64(limit.rlim_cur), 1 << 20)
        let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard highest > UInt64(descriptor) else { return }
        let moved = fcntl(descriptor, F_DUPFD_CLOEXEC, CInt(highest - 1))
        if moved >= 0 { close(moved) }
    }

    /// Two connected sockets, both non-blocking and close-on-exec.
    static func socketPair() throws(ProcessFault) -> (supervisor: CInt, child: CInt) {
        var ends: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw ProcessFault(doing: "make a channel to a child", errno: errno)
        }
        return (keep(ends[0]), keep(ends[1]))
    }
}
