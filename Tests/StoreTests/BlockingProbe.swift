// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// One question to a Unix socket and its literal answer, for a process without a loop; blocks for 200 ms at most.
enum BlockingProbe {
    private static let milliseconds: CInt = 200

    static func exchange(socket path: String, sending question: String, expecting answer: String) -> Bool {
        let descriptor = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard connect(descriptor, to: path) else { return false }
        let bytes = [UInt8](question.utf8)
        let sent = unsafe bytes.withUnsafeBytes {
            unsafe send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
        }
        guard sent == bytes.count else { return false }
        var received: [UInt8] = []
        while received.count < answer.utf8.count {
            var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&event, 1, milliseconds) == 1 else { return false }
            var chunk = [UInt8](repeating: 0, count: 256)
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
            guard count > 0 else { return false }
            received += chunk[..<count]
        }
        return received == [UInt8](answer.utf8)
    }

    private static func connect(_ descriptor: CInt, to path: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = [UInt8](path.utf8)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard bytes.count < room else { return false }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { target in
            for index in bytes.indices { unsafe target[index] = bytes[index] }
        }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }
}
