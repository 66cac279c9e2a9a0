// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Foundation
import Glibc
import Testing
import Transport

@Suite struct AtomicFileTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-file-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func path(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }

    @Test func `a file is replaced whole, for its owner alone, and leaves nothing beside it`() throws {
        defer { remove() }
        try AtomicFile.replace(path("a"), with: Array("one".utf8), isDurable: true)
        try AtomicFile.replace(path("a"), with: [UInt8](repeating: 7, count: 200_000), mode: 0o644, isDurable: false)
        #expect(try Data(contentsOf: folder.appending(path: "a")) == Data(repeating: 7, count: 200_000))
        #expect(try FileManager.default.contentsOfDirectory(atPath: path("")) == ["a"])
        try AtomicFile.replace(path("a"), with: [], isDurable: true)
        let mode = try FileManager.default.attributesOfItem(atPath: path("a"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func `a link that waits under the name of the new file is not followed`() throws {
        defer { remove() }
        try Data("kept".utf8).write(to: folder.appending(path: "other"))
        try FileManager.default.createSymbolicLink(atPath: path("a.new"), withDestinationPath: path("other"))
        try AtomicFile.replace(path("a"), with: Array("new".utf8), isDurable: true)
        #expect(try Data(contentsOf: folder.appending(path: "other")) == Data("kept".utf8))
    }

    @Test func `a folder that is not there is told`() {
        defer { remove() }
        #expect(throws: SystemError(ENOENT)) {
            try AtomicFile.replace(path("none/a"), with: [], isDurable: true)
        }
    }

    @Test func `where anything fails the old file stays, and nothing is left beside it`() throws {
        defer { remove() }
        try AtomicFile.replace(path("a"), with: Array("old".utf8), isDurable: true)
        try FileManager.default.createDirectory(at: folder.appending(path: "b"), withIntermediateDirectories: true)
        #expect(throws: SystemError(EISDIR)) {
            try AtomicFile.replace(path("b"), with: Array("new".utf8), isDurable: true)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: path("")).sorted() == ["a", "b"])
    }

    /// A folder that may be written but not read cannot be opened: its new name could not be made durable.
    @Test(.enabled(if: geteuid() != 0)) func `a folder that cannot be opened leaves the old file`() throws {
        defer { remove() }
        try AtomicFile.replace(path("a"), with: Array("old".utf8), isDurable: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o300], ofItemAtPath: path(""))
        #expect(throws: SystemError(EACCES)) {
            try AtomicFile.replace(path("a"), with: Array("new".utf8), isDurable: true)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path(""))
        #expect(try Data(contentsOf: folder.appending(path: "a")) == Data("old".utf8))
    }

    private func remove() {
        do { try FileManager.default.removeItem(at: folder) } catch { Issue.record("\(error)") }
    }
}
