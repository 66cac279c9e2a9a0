// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Foundation
import Glibc
import Transport

/// Certificates made with the openssl command once per test run: an authority and leaves for several names.
struct TestCertificates: Sendable {
    static let shared = TestCertificates()

    let folder: URL
    let authority: [UInt8]
    /// For `one.example`, `localhost` and 127.0.0.1.
    let one: TLSServerSettings.Identity
    /// For `*.wild.example`.
    let wild: TLSServerSettings.Identity
    /// For `localhost`, no longer valid.
    let expired: TLSServerSettings.Identity

    private init() {
        folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-tls-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try TestCertificates.script.write(to: folder.appending(path: "make.sh"), atomically: true, encoding: .utf8)
            let process = Process()
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments = ["make.sh"]
            process.currentDirectoryURL = folder
            process.standardError = FileHandle.nullDevice
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            authority = try Array(Data(contentsOf: folder.appending(path: "ca.pem")))
            one = try TestCertificates.identity("one", folder)
            wild = try TestCertificates.identity("wild", folder)
            expired = try TestCertificates.identity("expired", folder)
        } catch {
            preconditionFailure("no test certificates: \(error)")
        }
    }

    private static func identity(_ name: String, _ folder: URL) throws -> TLSServerSettings.Identity {
        TLSServerSettings.Identity(
            name: name,
            chainPEM: try Array(Data(contentsOf: folder.appending(path: "\(name).pem"))),
            keyPEM: try Array(Data(contentsOf: folder.appending(path: "\(name).key")))
        )
    }

    func path(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }

    private static let script = """
        set -e
        key() { openssl ecparam -name prime256v1 -genkey -noout -out $1; }
        key ca.key
        openssl req -x509 -new -key ca.key -subj '/CN=Test authority' -days 30 -out ca.pem
        leaf() { # name, alternative names, days
            key $1.key
            openssl req -new -key $1.key -subj "/CN=$1" -out $1.csr
            printf 'subjectAltName=%s\\n' "$2" > $1.ext
            openssl x509 -req -in $1.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days $3 -extfile $1.ext -out $1.pem
        }
        leaf one DNS:one.example,DNS:localhost,IP:127.0.0.1 10
        leaf wild 'DNS:*.wild.example' 10
        leaf expired DNS:localhost,IP:127.0.0.1 -1
        """
}

/// Runs a program off the loop and gives its output; `input` is written to its standard input, which stays open a while.
func run(_ arguments: [String], input: String = "", holdsInput: Duration = .zero) async throws -> String {
    let pool = BlockingPool(threads: 1)
    return try await pool.run { () throws(SystemError) -> String in
        let file = NSTemporaryDirectory() + "sallyport-output-\(UUID().uuidString)"
        let output = unsafe open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        var pipe: [CInt] = [0, 0]
        guard output >= 0, unsafe Glibc.pipe(&pipe) == 0 else { throw SystemError(errno) }
        // The children of other tests must not hold this pipe open.
        for end in pipe { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer {
            close(output)
            unsafe unlink(file)
        }
        var command = ChildCommand(
            executable: "/usr/bin/env",
            arguments: ["env"] + arguments,
            environment: ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp"]
        )
        command.descriptors = [(0, pipe[0]), (1, output), (2, output)]
        let child = try command.spawn()
        close(pipe[0])
        _ = unsafe write(pipe[1], input, input.utf8.count)
        usleep(useconds_t(holdsInput.nanosecondsClamped / 1000))
        close(pipe[1])
        var status: CInt = 0
        while unsafe waitpid(child, &status, 0) < 0, errno == EINTR {}
        var bytes = [UInt8](repeating: 0, count: 1 << 17)
        let count = unsafe pread(output, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
