// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// Who is at the other end of a Unix socket.
enum PeerUser {
    /// The name of the peer's user, from the kernel; empty for a socket of another family.
    static func name(of descriptor: CInt) -> String {
        // struct ucred: pid, uid, gid, 32 bits each; glibc shows it only to those who ask for GNU extensions.
        var credentials: (pid: Int32, user: UInt32, group: UInt32) = (0, 0, 0)
        var length = socklen_t(12)
        let result = unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length)
        guard result == 0, length == 12, credentials.pid > 0 else { return "" }
        return Account.name(of: credentials.user)
    }
}
