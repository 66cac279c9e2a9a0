// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Testing

@testable import Gateway

@Suite struct FilesTests {
    /// A folder with one of each kind, and what is said of it in place of its bytes.
    private func read(_ make: (String) -> Void) -> Result<[UInt8], FileFault> {
        let folder = "/tmp/files-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        _ = unsafe mkdir(folder, 0o700)
        defer { _ = unsafe rmdir(folder) }
        let path = "\(folder)/it"
        make(path)
        defer { _ = unsafe remove(path) }
        return Files.read(path, limit: 8)
    }

    private func bind(_ path: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        _ = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        close(descriptor)
    }

    private func write(_ text: String, to path: String) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT, 0o600)
        _ = unsafe Glibc.write(descriptor, text, text.utf8.count)
        close(descriptor)
    }

    @Test func `only a regular file is read, and nothing is waited for`() throws {
        #expect(try read { write("12345678", to: $0) }.get() == Array("12345678".utf8))
        let others: [((String) -> Void, String)] = [
            ({ _ = unsafe mkfifo($0, 0o600) }, "it is a pipe, not a regular file"),
            ({ bind($0) }, "it is a socket, not a regular file"),
            ({ _ = unsafe symlink("/dev/zero", $0) }, "it is a device, not a regular file"),
            ({ _ = unsafe mkdir($0, 0o700) }, "Is a directory"),
            ({ write("123456789", to: $0) }, "File too large"),
            ({ _ in }, "No such file or directory"),
        ]
        for (make, words) in others {
            guard case .failure(let fault) = read(make) else {
                Issue.record("\(words): it was read")
                continue
            }
            #expect(fault.message == words)
        }
    }
}
