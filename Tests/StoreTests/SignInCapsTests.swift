// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Limits
import Testing
import Transport

@testable import Store

@Suite(.onLoop) struct SignInCapsTests {
    private let app = RecordID(rawValue: "000000000000000000000001")
    private let other = RecordID(rawValue: "000000000000000000000002")

    @Test @Reactor func `of four hundred at once exactly as many as the cap pass`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let caps = SignInCaps(connection: connection)
        let rule = CapRule(name: "dev", limit: 200)
        let tasks = (0..<400).map { number in
            Task { @Reactor in try await caps.reserve("r\(number)", under: [rule], app: app) }
        }
        var reserved = 0
        for task in tasks where try await task.value == .reserved { reserved += 1 }
        #expect(reserved == 200)
        #expect(try await caps.reserve("x", under: [rule], app: other) == .reserved)
        connection.close()
    }

    @Test @Reactor func `a cancelled reservation makes room for one more`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let caps = SignInCaps(connection: connection)
        let rule = CapRule(name: "degraded", limit: 2)
        #expect(try await caps.reserve("a", under: [rule], app: app) == .reserved)
        #expect(try await caps.reserve("b", under: [rule], app: app) == .reserved)
        guard case .full(0, let wait) = try await caps.reserve("c", under: [rule], app: app) else {
            Issue.record("a third was reserved")
            return
        }
        #expect((3_598...3_600).contains(wait))
        try await caps.cancel("a", under: [rule], app: app)
        #expect(try await caps.reserve("d", under: [rule], app: app) == .reserved)
        connection.close()
    }

    @Test @Reactor func `a cap without room leaves the other ones alone`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let caps = SignInCaps(connection: connection)
        let whole = CapRule(name: "degraded", limit: 500)
        let here = CapRule(name: "degraded-client", limit: 30, network: ClientNetwork(ipv4: 1))
        let there = CapRule(name: "degraded-client", limit: 30, network: ClientNetwork(ipv4: 2))
        for number in 0..<30 {
            #expect(try await caps.reserve("r\(number)", under: [whole, here], app: app) == .reserved)
        }
        guard case .full(1, _) = try await caps.reserve("x", under: [whole, here], app: app) else {
            Issue.record("one address had a thirty-first")
            return
        }
        #expect(try await caps.reserve("y", under: [whole, there], app: app) == .reserved)
        #expect(try await connection.call(["ZCARD", .text("{\(app.rawValue)}:cap:degraded")]) == .integer(31))
        connection.close()
    }
}
