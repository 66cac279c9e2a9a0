// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// Makes the state directory and keeps other gateways out of it.
@safe
struct StateDirectory: ~Copyable {
    let paths: StatePaths
    private let lock: CInt

    /// Makes what is missing, gives it to `owner` and takes the lock.
    init(_ directory: String, owner: Account?) throws(ProcessFault) {
        self.paths = StatePaths(directory: directory)
        for path in [directory, paths.keys, paths.run, paths.redis] {
            try Self.makeDirectory(path, owner: owner)
        }
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        let descriptor = unsafe Descriptors.keep(open(paths.lock, flags, 0o600))
        guard descriptor >= 0 else { throw ProcessFault(doing: "open \(paths.lock)", errno: errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let holder = Self.text(of: descriptor)
            close(descriptor)
            throw ProcessFault(
                "another gateway (process \(holder)) uses the state directory \(directory)",
                nextSteps: ["stop it: kill \(holder)", "or choose another state.directory"]
            )
        }
        self.lock = descriptor
        ftruncate(descriptor, 0)
        let line = Array("\(getpid())\n".utf8)
        _ = unsafe write(descriptor, line, line.count)
    }

    deinit {
        close(lock)
    }

    private static func makeDirectory(_ path: String, owner: Account?) throws(ProcessFault) {
        if unsafe mkdir(path, 0o700) != 0 {
            guard errno == EEXIST else { throw ProcessFault(doing: "make the directory \(path)", errno: errno) }
        } else if let owner {
            guard unsafe chown(path, owner.user, owner.group) == 0 else {
                throw ProcessFault(doing: "give \(path) to \(owner.name)", errno: errno)
            }
        }
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw ProcessFault("\(path) is no directory")
        }
        // A directory that others can enter would show them keys and sockets.
        guard status.st_mode & 0o077 != 0 else { return }
        guard unsafe chmod(path, 0o700) == 0 else {
            throw ProcessFault(doing: "close \(path) to others", errno: errno)
        }
    }

    private static func text(of descriptor: CInt) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
        let digits = bytes[..<max(0, count)].filter { $0 >= 0x30 && $0 <= 0x39 }
        return String(decoding: digits, as: UTF8.self)
    }
}
