// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Testing

@testable import Gateway

@Suite struct AcceptedConfigurationTests {
    private static let text = """
        version: 1
        listeners: [{ address: "127.0.0.1:8080" }]
        state: { directory: state }
        upstreams: { api: { endpoints: ["http://127.0.0.1:9000"] } }
        routes: [{ name: all, match: { path: / }, upstream: api, access: open }]
        """

    private func inDirectory(_ body: (AcceptedConfiguration) throws -> Void) throws {
        let path = "/tmp/sallyport-accepted-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        let state = try StateDirectory(path, owner: nil)
        defer {
            for name in ["run/configuration", "sallyport.pid"] { _ = unsafe unlink("\(path)/\(name)") }
            for name in ["keys", "run", "redis"] { _ = unsafe rmdir("\(path)/\(name)") }
            _ = unsafe rmdir(path)
        }
        try body(AcceptedConfiguration(paths: state.paths, path: "/etc/elsewhere/sallyport.yaml", environment: [:]))
    }

    @Test func `what is kept is read again byte for byte, with the operator's folder as its base`() throws {
        try inDirectory { accepted in
            try accepted.keep(Array("version: 7".utf8))
            try accepted.keep(Array(Self.text.utf8))
            let configuration = try accepted.load()
            #expect(configuration.text == Array(Self.text.utf8))
            #expect(configuration.path == "/etc/elsewhere/sallyport.yaml")
            #expect(configuration.state.directory == "/etc/elsewhere/state")
            var status = stat()
            #expect(unsafe stat(accepted.paths.configuration, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
        }
    }

    @Test func `without a text, or with a wrong one, there is no configuration`() throws {
        try inDirectory { accepted in
            #expect(throws: ProcessFault.self) { try accepted.load() }
            try accepted.keep(Array("version: 7".utf8))
            let fault = #expect(throws: ProcessFault.self) { try accepted.load() }
            #expect(fault?.message.contains("/etc/elsewhere/sallyport.yaml:1") == true)
        }
    }
}
