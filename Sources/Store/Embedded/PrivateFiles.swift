// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

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
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
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

    /// Writes a file of mode 600 beside and moves it into place, so that no reader meets half of it.
    static func write(_ text: String, to path: String) throws(EmbeddedRedisProblem) {
        let temporary = path + ".new"
        unsafe unlink(temporary)
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw problem(temporary) }
        let bytes = [UInt8](text.utf8)
        let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        let isWritten = count == bytes.count && fsync(descriptor) == 0
        close(descriptor)
        guard isWritten, unsafe rename(temporary, path) == 0 else { throw problem(path) }
    }

    private static func problem(_ path: String) -> EmbeddedRedisProblem {
        let text = unsafe strerror(errno)
        return EmbeddedRedisProblem(path: path, reason: unsafe text.map { unsafe String(cString: $0) } ?? "failed")
    }
}
