// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Store
import Transport

/// What this node remembers of its registry: its name and how far it had come, on one line of a file.
///
/// Without the file the node takes whatever registry is there: so an operator says that another one is meant.
struct RegistryFile: Sendable {
    struct Memory: Equatable {
        var name: String
        /// The number of the last change that was seen.
        var sequence: Int
    }

    let path: String

    init(_ paths: StatePaths) {
        path = paths.registry
    }

    /// The name where the file is there and says none: no registry has it, so none is taken until somebody looks.
    static let unreadable = "unreadable"

    /// What is remembered; nil: there is no file.
    func read() -> Memory? {
        switch Files.read(path, limit: 256) {
        case .success(let bytes):
            let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
            guard words.count == 2, let sequence = Int(words[1]) else { break }
            return Memory(name: String(words[0]), sequence: sequence)
        case .failure(let fault):
            if fault.errno == ENOENT { return nil }
        }
        return Memory(name: Self.unreadable, sequence: 0)
    }

    func write(_ memory: Memory) throws(FileFault) {
        let line = Array("\(memory.name) \(memory.sequence)\n".utf8)
        try Files.replace(path, with: line, owner: nil, isDurable: true)
    }

    /// The identity that the connections of one process ask.
    @Reactor
    func identity() -> RegistryIdentity {
        RegistryIdentity { read()?.name }
    }
}
