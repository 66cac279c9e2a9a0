// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// Opens listening sockets: what the supervisor does once and holds for life.
enum ListeningSockets {
    /// A queue long enough for a burst while a worker is started again.
    private static let backlog: CInt = 4096

    /// One SO_REUSEPORT socket for each of `count` workers.
    static func open(host: String, port: UInt16, count: Int) throws(ProcessFault) -> [CInt] {
        var address = try BindAddress(host: host, port: port)
        try probe(&address)
        var sockets: [CInt] = []
        for _ in 0..<count {
            let descriptor = try address.bind(reusePort: true)
            guard listen(descriptor, backlog) == 0 else { throw address.fault(errno) }
            sockets.append(descriptor)
        }
        return sockets
    }

    /// One socket for a listener of control.
    static func openAlone(host: String, port: UInt16) throws(ProcessFault) -> CInt {
        var address = try BindAddress(host: host, port: port)
        try probe(&address)
        let descriptor = try address.bind(reusePort: false)
        guard listen(descriptor, 128) == 0 else { throw address.fault(errno) }
        return descriptor
    }

    /// A socket of one process at an address, if there is one.
    static func openAlone(_ address: SupervisorPlan.Address?) throws(ProcessFault) -> CInt? {
        guard let address else { return nil }
        return try openAlone(host: address.host, port: address.port)
    }

    /// A Unix socket at `path`, mode 0660, in place of a dead one; a living one, and whatever is no socket, stays.
    static func openLocal(path: String, owner: Account?) throws(ProcessFault) -> CInt {
        var address = try BindAddress(path: path)
        var status = stat()
        if unsafe lstat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFSOCK else {
                throw ProcessFault("cannot listen on \(path): \(Places.notASocket)")
            }
            // The state directory's lock keeps away a gateway on the same directory, not one on another.
            try awaitSilence(of: address, path: path)
            _ = unsafe unlink(path)
        }
        let descriptor = try address.bind(reusePort: false)
        guard unsafe chmod(path, 0o660) == 0, listen(descriptor, 128) == 0 else { throw address.fault(errno) }
        if let owner { _ = unsafe chown(path, owner.user, owner.group) }
        return descriptor
    }

    /// Waits until nobody answers at `path`: the control of a killed gateway goes within milliseconds, as for `probe`.
    private static func awaitSilence(of address: BindAddress, path: String) throws(ProcessFault) {
        var tries = 0
        while address.isAnswered {
            tries += 1
            guard tries < 50 else {
                throw ProcessFault(
                    "cannot listen on \(path): Address already in use: another gateway answers there",
                    nextSteps: ["end the program that listens there, or choose another address"]
                )
            }
            usleep(10_000)
        }
    }

    /// SO_REUSEPORT would share a port with another gateway of ours without a word; a socket without it does not.
    ///
    /// Sockets of a killed gateway's children go within milliseconds, so a busy port is tried for half a second.
    private static func probe(_ address: inout BindAddress) throws(ProcessFault) {
        var tries = 0
        while true {
            do {
                let descriptor = try address.bind(reusePort: false)
                close(descriptor)
                return
            } catch {
                tries += 1
                guard address.isBusy, tries < 50 else { throw error }
                usleep(10_000)
            }
        }
    }
}

/// An address to bind, with its text for messages.
@safe
struct BindAddress {
    private var storage = sockaddr_storage()
    private let length: socklen_t
    private let family: CInt
    private let text: String
    /// Whether the last bind failed because somebody else is there.
    private(set) var isBusy = false

    /// An IP literal and a port.
    init(host: String, port: UInt16) throws(ProcessFault) {
        var four = sockaddr_in()
        var six = sockaddr_in6()
        if unsafe inet_pton(AF_INET, host, &four.sin_addr) == 1 {
            four.sin_family = sa_family_t(AF_INET)
            four.sin_port = port.bigEndian
            (family, length, text) = (AF_INET, socklen_t(MemoryLayout<sockaddr_in>.size), "\(host):\(port)")
            unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: four, as: sockaddr_in.self) }
        } else if unsafe inet_pton(AF_INET6, host, &six.sin6_addr) == 1 {
            six.sin6_family = sa_family_t(AF_INET6)
            six.sin6_port = port.bigEndian
            (family, length, text) = (AF_INET6, socklen_t(MemoryLayout<sockaddr_in6>.size), "[\(host)]:\(port)")
            unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: six, as: sockaddr_in6.self) }
        } else {
            throw ProcessFault("cannot listen on \(host): it is no IP address")
        }
    }

    /// A path.
    init(path: String) throws(ProcessFault) {
        var local = sockaddr_un()
        guard path.utf8.count < MemoryLayout.size(ofValue: local.sun_path) else {
            throw ProcessFault(
                "cannot listen on \(path): the path of a Unix socket has at most 107 bytes",
                nextSteps: ["choose a shorter state.directory or admin.address"]
            )
        }
        local.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &local.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        (family, length, text) = (AF_UNIX, socklen_t(MemoryLayout<sockaddr_un>.size), path)
        unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: local, as: sockaddr_un.self) }
    }

    /// Whether somebody listens there now.
    var isAnswered: Bool {
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let result = unsafe withUnsafePointer(to: storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, length)
            }
        }
        // A queue that is full has somebody behind it.
        return result == 0 || errno == EAGAIN
    }

    /// A bound socket above 100, non-blocking and close-on-exec.
    mutating func bind(reusePort: Bool) throws(ProcessFault) -> CInt {
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let descriptor = Descriptors.keep(socket(family, kind, 0))
        guard descriptor >= 0 else { throw fault(errno) }
        if family != AF_UNIX {
            Self.switchOn(SO_REUSEADDR, SOL_SOCKET, descriptor)
            if reusePort { Self.switchOn(SO_REUSEPORT, SOL_SOCKET, descriptor) }
            if family == AF_INET6 { Self.switchOn(CInt(IPV6_V6ONLY), CInt(IPPROTO_IPV6), descriptor) }
        }
        let length = length
        let result = unsafe withUnsafePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.bind(descriptor, $0, length)
            }
        }
        guard result == 0 else {
            let code = errno
            isBusy = code == EADDRINUSE
            close(descriptor)
            throw fault(code)
        }
        return descriptor
    }

    func fault(_ code: CInt) -> ProcessFault {
        var steps: [String] = []
        if code == EADDRINUSE { steps = ["end the program that listens there, or choose another address"] }
        if code == EACCES { steps = ["ports below 1024 need root or CAP_NET_BIND_SERVICE; set user: to drop root"] }
        return ProcessFault(doing: "listen on \(text)", errno: code, nextSteps: steps)
    }

    private static func switchOn(_ option: CInt, _ level: CInt, _ descriptor: CInt) {
        var on: CInt = 1
        unsafe setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<CInt>.size))
    }
}
