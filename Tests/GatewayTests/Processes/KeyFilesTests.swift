// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Glibc
import Testing
import Transport

@testable import Gateway

@Suite struct KeyFilesTests {
    private func inDirectory(_ body: (StatePaths) throws -> Void) throws {
        let path = "/tmp/sallyport-keys-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        let state = try StateDirectory(path, owner: nil)
        defer { removeAll(path) }
        try body(state.paths)
    }

    private func removeAll(_ path: String) {
        for name in ["keys/pepper", "keys/seal", "node", "sallyport.pid"] { _ = unsafe unlink("\(path)/\(name)") }
        for name in ["keys", "run", "redis"] { _ = unsafe rmdir("\(path)/\(name)") }
        _ = unsafe rmdir(path)
    }

    @Test func `keys are made once, closed to others, and kept`() throws {
        try inDirectory { paths in
            try KeyFiles.makeMissing(in: paths, owner: nil)
            let first = try KeyFiles.load(paths.pepper)
            try KeyFiles.makeMissing(in: paths, owner: nil)
            let second = try KeyFiles.load(paths.pepper)
            #expect(first.map(\.bytes) == second.map(\.bytes))
            #expect(first.count == 1 && first[0].bytes.count == 32 && first[0].id.hasPrefix("k"))
            #expect(try KeyFiles.load(paths.sealing)[0].bytes != first[0].bytes)
            var status = stat()
            #expect(unsafe stat(paths.pepper, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
            #expect(try KeyFiles.node(paths).utf8.count == 16)
        }
    }

    @Test(arguments: ["", "abc\n", String(repeating: "z", count: 64), String(repeating: "a", count: 62)])
    func `a damaged key file is a fault`(text: String) throws {
        try inDirectory { paths in
            let descriptor = unsafe open(paths.pepper, O_WRONLY | O_CREAT, 0o600)
            let bytes = Array(text.utf8)
            _ = unsafe write(descriptor, bytes, bytes.count)
            close(descriptor)
            #expect(throws: ProcessFault.self) { try KeyFiles.load(paths.pepper) }
        }
    }

    @Test func `a state directory is taken once`() throws {
        let path = "/tmp/sallyport-lock-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        let first = try StateDirectory(path, owner: nil)
        defer { removeAll(path) }
        do {
            _ = try StateDirectory(path, owner: nil)
            Issue.record("a second gateway got the directory")
        } catch {
            #expect(error.message.contains("another gateway (process \(getpid()))"))
        }
        #expect(first.paths.directory == path)
    }

    @Test func `ticket keys are the same on every worker of a period and known to the next`() throws {
        let seal = SecretBytes(Array("a sealing key of some length for this test".utf8).span)
        let period: Int64 = 12 * 3600 * 1000
        #expect(TicketKeyring.untilNext(atMilliseconds: period - 1) == .milliseconds(1))
        #expect(TicketKeyring.keys(seal, atMilliseconds: 5 * period) != nil)
        #expect(TicketKeyring.keys(seal, atMilliseconds: 5 * period)?.previous != nil)
    }
}
