// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Testing
import Transport

@testable import Store

@Suite(.onLoop) struct HistoryLengthTests {
    private let app = RecordID(rawValue: "000000000000000000000001")

    @Test @Reactor func `a history keeps its latest rows and grows no further`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        let connection = registry.connection
        let key = RegistryScripts.tag + ":history:" + app.rawValue
        let fill =
            "for i = 1, \(RegistryScripts.historyKept * 2) do redis.call('XADD', KEYS[1], '*', 'event', 'old', "
            + "'by', 'x', 'details', '{}') end"
        _ = try await connection.call(["EVAL", .text(fill), 1, .text(key)], deadline: .seconds(5))
        try await registry.note([HistoryEvent("noted")], of: app, by: "x")
        let mark = Revocation.Mark(subject: .app(app), notBefore: 1, expiresAt: 4_000_000_000_000)
        _ = try await registry.revoke(
            Revocation(marks: [mark]),
            app: app,
            organization: OrganizationID(rawValue: "acme"),
            by: "x",
            events: [HistoryEvent("tokens_revoked")]
        )
        let length = try await connection.call(["XLEN", .text(key)]).integer ?? 0
        // Redis lets whole nodes of a hundred entries go.
        #expect(Int(length) >= RegistryScripts.historyKept && Int(length) <= RegistryScripts.historyKept + 200)
        let latest = try await registry.history(app: app, limit: 3).elements.map(\.event.name)
        #expect(latest == ["tokens_revoked", "noted", "old"])
        connection.close()
    }

    @Test @Reactor func `what is counted of sign-ins ends by itself, and failures are few`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let history = SignInHistory(connection: connection)
        let now: Int64 = 1_790_000_000_000
        for _ in 0..<SignInHistory.mostFaults + 5 { history.fail("ios", "malformed", of: app, at: now) }
        history.count(.secret, of: app, at: now)
        for _ in 0..<200 {
            let day = try await history.signIns(of: app, now: now, latest: 1).first?.counts
            if day == [.failed: SignInHistory.mostFaults + 5, .secret: 1] { break }
            try await TestLoop.loop.sleep(for: .milliseconds(10))
        }
        #expect(try await history.faults(of: app).count == SignInHistory.mostFaults)
        #expect(
            try await connection.call(["LLEN", .text("{\(app.rawValue)}:sf")]).integer
                == Int64(SignInHistory.mostFaults)
        )
        let left = try await connection.call(["TTL", .text("{\(app.rawValue)}:si:2026-09-21")]).integer ?? -1
        #expect(left > 30 * 86_400)
        connection.close()
    }
}
