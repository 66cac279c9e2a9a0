// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Glibc
import Telemetry
import Transport

/// Small questions about files, asked at start and by the command line; never on the loop.
package enum Files {
    /// Whether something is there.
    package static func exists(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0
    }

    /// The absolute form of a path, links kept; relative ones start at the working directory.
    package static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/") else { return path }
        guard let directory = unsafe getcwd(nil, 0) else { return path }
        defer { unsafe free(directory) }
        return unsafe "\(String(cString: directory))/\(path)"
    }

    /// A whole regular file of at most `limit` bytes, or why not; never waits for whoever writes into a pipe.
    package static func read(_ path: String, limit: Int = 16 << 20) -> Result<[UInt8], FileFault> {
        var bytes: [UInt8] = []
        if let fault = read(path, limit: limit, into: &bytes) { return .failure(fault) }
        return .success(bytes)
    }

    private static func read(_ path: String, limit: Int, into bytes: inout [UInt8]) -> FileFault? {
        // Without O_NONBLOCK the very opening of a pipe waits.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        // A socket cannot be opened at all.
        guard descriptor >= 0 else { return errno == ENXIO ? .special("a socket") : FileFault(errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return FileFault(errno: errno) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return read(descriptor, limit: limit, size: Int(status.st_size), into: &bytes)
        case S_IFDIR: return FileFault(errno: EISDIR)
        case S_IFIFO: return .special("a pipe")
        default: return .special("a device")
        }
    }

    /// As `read`, for a file that holds a secret: no other copy of it stays in memory.
    static func readSecret(_ path: String, limit: Int) -> Result<SecretBytes, FileFault> {
        // Never in a Result before: a second owner would make `wipe` overwrite a copy.
        var bytes: [UInt8] = []
        defer { SecretBytes.wipe(&bytes) }
        if let fault = read(path, limit: limit, into: &bytes) { return .failure(fault) }
        return .success(SecretBytes(bytes.span))
    }

    /// What a command is given to read, which may be a pipe or a terminal: a person is there to end it.
    package static func readForPerson(_ path: String, limit: Int = 16 << 20) -> Result<[UInt8], FileFault> {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return .failure(FileFault(errno: errno)) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        if let fault = read(descriptor, limit: limit, size: 0, into: &bytes) { return .failure(fault) }
        return .success(bytes)
    }

    private static func read(_ descriptor: CInt, limit: Int, size: Int, into bytes: inout [UInt8]) -> FileFault? {
        // An array that grows leaves copies of what it held behind, which may be a key.
        bytes.reserveCapacity(min(size, limit))
        var chunk = [UInt8](repeating: 0, count: 65_536)
        defer { SecretBytes.wipe(&chunk) }
        while true {
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            if count < 0 { return FileFault(errno: errno) }
            if count == 0 { return nil }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= limit else { return FileFault(errno: EFBIG) }
        }
    }

    /// Puts a file of these bytes, readable by its owner alone, in the place of another at one instant.
    static func replace(
        _ path: String,
        with bytes: [UInt8],
        owner: Account?,
        isDurable: Bool
    ) throws(FileFault) {
        do {
            try AtomicFile.replace(path, with: bytes, owner: owner.map { ($0.user, $0.group) }, isDurable: isDurable)
        } catch {
            throw FileFault(errno: error.code)
        }
    }

    /// When a file changed last, in nanoseconds since 1970, with its size; nil when it is not there.
    package static func version(_ path: String) -> FileVersion? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return FileVersion(
            modified: Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec),
            size: Int64(status.st_size),
            inode: UInt64(status.st_ino)
        )
    }
}

/// Why a file could not be read.
package struct FileFault: Error, Equatable {
    package let errno: CInt
    /// What is there in the place of a regular file; nil: that is not why.
    private var found: String?

    package init(errno: CInt) {
        self.errno = errno
    }

    /// Something that is no regular file: reading it could wait for ever.
    static func special(_ found: String) -> FileFault {
        var fault = FileFault(errno: EINVAL)
        fault.found = found
        return fault
    }

    /// Whether another user may find nothing wrong.
    var isOfThisUser: Bool { errno == EACCES || errno == EPERM }

    /// The system's words, or ours.
    package var message: String { found.map { "it is \($0), not a regular file" } ?? systemMessage(errno) }
}

/// What changes when a file is written or replaced.
package struct FileVersion: Equatable, Sendable {
    package let modified: Int64
    package let size: Int64
    package let inode: UInt64
}
