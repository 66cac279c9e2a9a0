// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Testing
import Transport

@testable import Store

@Suite(.onLoop) struct SignInHistoryTests {
    private let app = RecordID(rawValue: "000000000000000000000001")
    /// 2026-11-30T00:00:00Z.
    private let midnight: Int64 = 1_795_996_800_000
    private let day: Int64 = 86_400_000

    @Test @Reactor func `a day begins at midnight of UTC, to the millisecond`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let history = SignInHistory(connection: connection)
        history.count(.ios, of: app, at: midnight - 1)
        history.count(.ios, of: app, at: midnight)
        history.count(.web, of: app, at: midnight + day - 1)
        try await settled(history)
        let days = try await history.signIns(of: app, now: midnight + day - 1)
        #expect(
            days == [
                SignInDay(date: "2026-11-30", counts: [.ios: 1, .web: 1]),
                SignInDay(date: "2026-11-29", counts: [.ios: 1]),
            ]
        )
        connection.close()
    }

    @Test @Reactor func `thirty days are shown, today among them, and the day before them is not`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let history = SignInHistory(connection: connection)
        for back in 0..<32 { history.count(.secret, of: app, at: midnight - Int64(back) * day) }
        try await settled(history)
        let days = try await history.signIns(of: app, now: midnight)
        #expect(days.count == 30)
        #expect(days.first?.date == "2026-11-30" && days.last?.date == "2026-11-01")
        #expect(
            try await history.signIns(of: app, now: midnight, latest: 2).map(\.date) == ["2026-11-30", "2026-11-29"]
        )
        #expect(try await history.signIns(of: app, now: midnight, latest: 90).count == 30)
        #expect(try await history.signIns(of: RecordID(rawValue: "000000000000000000000002"), now: midnight) == [])
        connection.close()
    }

    @Test @Reactor func `the twenty latest failures are kept, newest first`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let history = SignInHistory(connection: connection)
        for number in 0..<25 {
            history.fail("ios", "reason_\(number)", of: app, at: midnight + Int64(number))
            try await settled(history)
        }
        let faults = try await history.faults(of: app)
        #expect(faults.map(\.reason) == (5..<25).reversed().map { "reason_\($0)" })
        #expect(try await history.signIns(of: app, now: midnight).first?.counts == [.failed: 25])
        connection.close()
    }

    /// Counts are written beside the sign-in: thirty round trips over the same connection come after them.
    @Reactor private func settled(_ history: SignInHistory) async throws {
        _ = try await history.signIns(of: RecordID(rawValue: "000000000000000000000009"), now: midnight)
    }
}
