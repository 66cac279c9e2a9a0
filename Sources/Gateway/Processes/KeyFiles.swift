// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings
import Glibc

/// The keys at rest: one line of 64 hexadecimal digits each, newest first; the newest one seals and hashes, all open.
package enum KeyFiles {
    /// One key with the id that hashes and sealed blobs name.
    package struct Key: Sendable {
        package let id: String
        package let bytes: [UInt8]
    }

    private static let keyLength = 32
    private static let fileLimit = 65_536

    /// Makes the pepper and the sealing key on first start; an existing file is never touched.
    static func makeMissing(in paths: StatePaths, owner: Account?) throws(ProcessFault) {
        for path in [paths.pepper, paths.sealing] where !Files.exists(path) {
            try make(path, length: keyLength, owner: owner)
        }
        if !Files.exists(paths.node) { try make(paths.node, length: 8, owner: owner) }
    }

    /// The name of this node, made on first start: a worker that is started again takes over its predecessor's lease.
    static func node(_ paths: StatePaths) throws(ProcessFault) -> String {
        switch Files.read(paths.node, limit: 64) {
        case .success(let bytes): return String(decoding: bytes.filter(\.isLowerHex), as: UTF8.self)
        case .failure(let fault): throw ProcessFault(doing: "read \(paths.node)", fault)
        }
    }

    /// Reads a key file.
    package static func load(_ path: String) throws(ProcessFault) -> [Key] {
        let text: String
        switch Files.read(path, limit: fileLimit) {
        case .success(let bytes): text = String(decoding: bytes, as: UTF8.self)
        case .failure(let fault): throw ProcessFault(doing: "read the key file \(path)", fault)
        }
        guard let keys = parse(Array(text.utf8)) else {
            throw ProcessFault("\(path) holds other lines than keys of 64 hexadecimal digits, or none")
        }
        return keys
    }

    /// The keys of such lines; nil where any line is none, or there are none.
    package static func parse(_ bytes: [UInt8]) -> [Key]? {
        var keys: [Key] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let key: [UInt8]
            do {
                key = try Hex.decode(String(decoding: line, as: UTF8.self))
            } catch {
                return nil
            }
            guard key.count == keyLength else { return nil }
            keys.append(Key(id: id(of: key), bytes: key))
        }
        return keys.isEmpty ? nil : keys
    }

    /// A key's id: the same on every node that has the key, and no help in finding it.
    package static func id(of key: [UInt8]) -> String {
        let digest = SHA256.hash(Array("sallyport key id".utf8) + key)
        return "k" + Hex.encode(Array(digest.bytes[..<4]))
    }

    /// Adds a new key below those of a file; it opens and verifies, and is in use only once Redis names it.
    static func add(to path: String) throws(ProcessFault) -> String {
        let held = try load(path)
        let key = random(keyLength)
        try write((held.map(\.bytes) + [key]).map { Hex.encode($0) + "\n" }.joined(), to: path, owner: nil)
        return id(of: key)
    }

    private static func make(_ path: String, length: Int, owner: Account?) throws(ProcessFault) {
        try write(Hex.encode(random(length)) + "\n", to: path, owner: owner)
    }

    private static func random(_ count: Int) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    private static func write(_ text: String, to path: String, owner: Account?) throws(ProcessFault) {
        do {
            try Files.replace(path, with: Array(text.utf8), owner: owner, isDurable: true)
        } catch {
            throw ProcessFault(doing: "write the key file \(path)", error)
        }
    }
}
