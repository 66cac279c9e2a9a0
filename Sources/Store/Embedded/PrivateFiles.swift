// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Transport

/// Small files that only their owner may read, for start-up; blocks.
enum PrivateFiles {
    /// Makes a folder of mode 700, or checks and narrows the one that is there.
    static func makeDirectory(_ path: String) throws(EmbeddedRedisProblem) {
        if unsafe mkdir(path, 0o700) != 0, errno != EEXIST { throw problem(path) }
        if unsafe chmod(path, 0o700) != 0 { throw problem(path) }
    }

    static func absolutePath(_ path: String) throws(EmbeddedRedisProblem) -> String {
        guard let resolved = unsafe realpath(path, nil) else { throw problem(path) }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// The text of a file, nil where there is none.
    static func read(_ path: String) throws(EmbeddedRedisProblem) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw problem(path)
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw problem(path) }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    /// Puts a file of mode 600 in the place of another.
    static func write(_ text: String, to path: String) throws(EmbeddedRedisProblem) {
        do {
            try AtomicFile.replace(path, with: Array(text.utf8), isDurable: true)
        } catch {
            throw EmbeddedRedisProblem(path: path, reason: error.description)
        }
    }

    private static func problem(_ path: String) -> EmbeddedRedisProblem {
        let text = unsafe strerror(errno)
        return EmbeddedRedisProblem(path: path, reason: unsafe text.map { unsafe String(cString: $0) } ?? "failed")
    }
}
