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
