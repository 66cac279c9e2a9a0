// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Telemetry
import Transport

/// A file that could not be read or written, and the system's word for why.
package struct FileFailure: Error, Equatable, CustomStringConvertible {
    /// The file.
    package let path: String
    /// What the system said.
    package let reason: String

    init(path: String) {
        self.path = path
        reason = systemMessage(errno)
    }

    init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    package var description: String {
        "\(path): \(reason)"
    }
}

/// Whole small files, for commands; nothing here runs on a loop.
package enum SmallFile {
    /// No file that a command reads is larger: 64 MiB.
    private static let limit = 64 << 20

    /// The bytes of the file at `path`, which a person named: a pipe is read to its end.
    package static func read(_ path: String) throws(FileFailure) -> [UInt8] {
        try whole(path, Files.readForPerson(path, limit: limit))
    }

    /// The bytes of the file at `path`, which is read again and again while the gateway runs: it must be a regular one.
    package static func readRegular(_ path: String) throws(FileFailure) -> [UInt8] {
        try whole(path, Files.read(path, limit: limit))
    }

    private static func whole(_ path: String, _ result: Result<[UInt8], FileFault>) throws(FileFailure) -> [UInt8] {
        switch result {
        case .success(let bytes): return bytes
        case .failure(let fault): throw FileFailure(path: path, reason: fault.message)
        }
    }

    /// Replaces the file at `path` in one step; only the owner may read it unless `isPublic`.
    package static func write(_ bytes: [UInt8], to path: String, isPublic: Bool = false) throws(FileFailure) {
        do {
            try AtomicFile.replace(path, with: bytes, mode: isPublic ? 0o644 : 0o600, isDurable: true)
        } catch {
            throw FileFailure(path: path, reason: error.description)
        }
    }

    /// Makes a directory that only its owner may enter; one that is there already is kept.
    package static func makeDirectory(_ path: String) throws(FileFailure) {
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw FileFailure(path: path) }
    }

    /// The names in a directory, sorted, without those that begin with a dot.
    package static func names(in path: String) throws(FileFailure) -> [String] {
        guard let directory = unsafe opendir(path) else { throw FileFailure(path: path) }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
                unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    /// Whether `path` is a directory.
    package static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
