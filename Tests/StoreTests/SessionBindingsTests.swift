// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Crypto
import Testing
import Transport

@testable import Store

@Suite(.onLoop) struct SessionBindingsTests {
    @Test @Reactor func `a bound token is known for its app until it expires, and kept as a hash`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let bindings = SessionBindings(
            connection: connection,
            peppers: try PepperRing([("p1", SecretBytes([UInt8](repeating: 7, count: 32).span))])
        )
        let app = RecordID(rawValue: "000000000000000000000001")
        let session = BoundSession(app: app, trust: .degraded, issuedAt: 1_000, expiresAt: 61_000)
        try await bindings.bind("opaque-token", to: session, now: 1_000)
        #expect(try await bindings.session("opaque-token", app: app) == session)
        #expect(try await bindings.session("opaque-toke", app: app) == nil)
        #expect(try await bindings.session("opaque-token", app: RecordID(rawValue: "000000000000000000000002")) == nil)
        guard case .array(let found) = try await connection.call(["SCAN", 0]), let keys = found.last?.elements else {
            Issue.record("no keys were listed")
            return
        }
        #expect(keys.count == 1)
        #expect(keys.allSatisfy { $0.text?.contains("opaque") == false })
        connection.close()
    }

    @Test @Reactor func `an older pepper still finds what it bound`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let app = RecordID(rawValue: "000000000000000000000001")
        let session = BoundSession(app: app, trust: .hardware, issuedAt: 1_000, expiresAt: 61_000)
        let old = SecretBytes([UInt8](repeating: 7, count: 32).span)
        let new = SecretBytes([UInt8](repeating: 8, count: 32).span)
        let before = SessionBindings(connection: connection, peppers: try PepperRing([("p1", old)]))
        try await before.bind("t", to: session, now: 1_000)
        let after = SessionBindings(connection: connection, peppers: try PepperRing([("p2", new), ("p1", old)]))
        #expect(try await after.session("t", app: app) == session)
        let without = SessionBindings(connection: connection, peppers: try PepperRing([("p2", new)]))
        #expect(try await without.session("t", app: app) == nil)
        connection.close()
    }
}
