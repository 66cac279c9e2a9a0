// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Foundation
import Testing
import Transport

extension TLSTests {
    @Test(arguments: [TLSVersion.v1_2, .v1_3]) @Reactor
    func `a session is resumed on another context with the same keys`(version: TLSVersion) async throws {
        let keys = TicketKeys(current: try keys(1))
        let first = try server(keys: keys)
        let second = try server(keys: TicketKeys(current: try self.keys(2), previous: try self.keys(1)))
        let third = try server(keys: TicketKeys(current: try self.keys(3)))
        defer {
            first.close()
            second.close()
            third.close()
        }
        let file = certificates.path("session-\(version.rawValue)")
        let option = version == .v1_2 ? "-tls1_2" : "-tls1_3"
        let made = try await run(
            ["openssl", "s_client", "-connect", "\(first.socket.address)", option, "-sess_out", file],
            input: "x",
            holdsInput: .seconds(3)
        )
        #expect(made.contains("session ticket:"), "\(made)")
        for door in [first, second, third] {
            _ = try await run(
                ["openssl", "s_client", "-connect", "\(door.socket.address)", option, "-sess_in", file],
                input: "x",
                holdsInput: .milliseconds(500)
            )
        }
        #expect(first.probes.map { $0.failure } == [nil, nil])
        #expect(first.probes.map { $0.session?.isResumed } == [false, true])
        #expect(second.probes.map { $0.session?.isResumed } == [true])
        #expect(third.probes.map { $0.session?.isResumed } == [false])
    }

    @Test @Reactor func `without ticket keys nothing is resumed`() async throws {
        let door = try server()
        defer { door.close() }
        let output = try await run(
            ["openssl", "s_client", "-connect", "\(door.socket.address)", "-tls1_3"],
            input: "x",
            holdsInput: .seconds(3)
        )
        #expect(!output.contains("TLS session ticket:"))
    }

    @Test @Reactor func `a client context resumes its own sessions`() async throws {
        let door = try server(keys: TicketKeys(current: try keys(7)))
        defer { door.close() }
        let context = try TLSClientContext(TLSClientSettings(trust: .authorities(pem: certificates.authority)))
        for round in 0..<3 {
            let (stream, probe) = try client(door, context)
            stream.write("x")
            try await eventually(loop) { probe.text == "x" || probe.isClosed }
            #expect(probe.session?.isResumed == (round > 0), "round \(round)")
            stream.close()
        }
    }
}
