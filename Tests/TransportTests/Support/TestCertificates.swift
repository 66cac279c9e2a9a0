// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
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
        var key = try Array(Data(contentsOf: folder.appending(path: "\(name).key")))
        return TLSServerSettings.Identity(
            name: name,
            chainPEM: try Array(Data(contentsOf: folder.appending(path: "\(name).pem"))),
            keyPEM: SecretBytes(wiping: &key)
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

/// Runs a program off the loop and gives its output; `input` is written to its standard input,
/// which stays open a while.
func run(_ arguments: [String], input: String = "", holdsInput: Duration = .zero) async throws -> String {
    let pool = BlockingPool(threads: 1)
    return try await pool.run { () throws(SystemError) -> String in
        let output = Pipe()
        let standardInput = Pipe()
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.environment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp"]
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = output
        do {
            try process.run()
            try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            usleep(useconds_t(holdsInput.nanosecondsClamped / 1000))
            try standardInput.fileHandleForWriting.close()
            let text = try output.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            return String(decoding: text, as: UTF8.self)
        } catch {
            throw SystemError(EIO)
        }
    }
}
