// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Limits
import Testing
import Transport
import WindowModel

@testable import Store

@Suite(.onLoop) struct WindowStoreTests {
    private let subject = WindowSubject(
        organization: "acme",
        app: "0123456789abcdef01234567",
        client: ClientNetwork(ipv4: 0x0a00_0001),
        route: "api"
    )

    private func charge(_ rules: WindowRule...) -> WindowCharge {
        let charge = WindowCharge()
        for rule in rules { charge.add(rule, for: subject) }
        return charge
    }

    private func key(of charge: WindowCharge) -> RedisArgument { .bytes(charge.keys) }

    @Test @Reactor func `400 parallel spends at limit 200 admit exactly 200`() async throws {
        let server = try await RedisServer.launched()
        let connections = [try await server.connected(), try await server.connected()]
        let stores = connections.map { WindowStore(connection: $0) }
        let rule = WindowRule(name: "r", per: [.app], limit: 200, window: .seconds(60))
        let counter = AdmissionCounter()
        for index in 0..<400 {
            #expect(stores[index % 2].spend(charge(rule), receiver: counter, token: index))
        }
        #expect(await eventually { counter.answers == 400 })
        #expect(counter.admitted == 200)
        #expect(counter.failures == 0)
        for connection in connections { connection.close() }
    }

    @Test @Reactor func `all windows of a request are spent or none`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = WindowStore(connection: connection)
        let wide = WindowRule(name: "wide", per: [.app], limit: 10, window: .seconds(60))
        let narrow = WindowRule(name: "narrow", per: [.client], limit: 2, window: .seconds(60))
        let both = charge(wide, narrow)
        for remaining in [1, 0] {
            try await store.spend(both)
            #expect(both.isAdmitted)
            #expect(both.verdicts[1].remaining == remaining)
        }
        try await store.spend(both)
        #expect(!both.isAdmitted)
        #expect(both.refusingRule?.name == "narrow")
        #expect(both.verdicts[0].remaining == 8)
        let wait = try #require(both.retryAfter)
        #expect(wait >= 59 && wait <= 62)
        connection.close()
    }

    @Test @Reactor func `a shadow window counts what it would admit and refuses nothing`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = WindowStore(connection: connection)
        let plain = WindowRule(name: "plain", per: [.app], limit: 10, window: .seconds(60))
        let shadow = WindowRule(name: "try", per: [.client], limit: 1, window: .seconds(60), isShadow: true)
        let both = charge(plain, shadow)
        try await store.spend(both)
        #expect(both.isAdmitted && !both.isRefusedInShadow)
        try await store.spend(both)
        #expect(both.isAdmitted && both.isRefusedInShadow)
        #expect(both.verdicts.map(\.remaining) == [8, 0])
        connection.close()
    }

    @Test @Reactor func `a changed limit applies at once`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = WindowStore(connection: connection)
        func spend(limit: Int) async throws -> Bool {
            let spent = charge(WindowRule(name: "r", per: [.app], limit: limit, window: .seconds(60)))
            try await store.spend(spent)
            return spent.isAdmitted
        }
        #expect(try await spend(limit: 2))
        #expect(try await spend(limit: 2))
        #expect(try await !spend(limit: 2))
        #expect(try await spend(limit: 3))
        #expect(try await !spend(limit: 1))
        connection.close()
    }

    @Test @Reactor func `a key without an expiry or with a foreign value is healed`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = WindowStore(connection: connection)
        let spent = charge(WindowRule(name: "r", per: [.app], limit: 5, window: .seconds(60)))
        try await store.spend(spent)
        _ = try await connection.call(["PERSIST", key(of: spent)])
        #expect(try await connection.call(["PTTL", key(of: spent)]) == .integer(-1))
        // The first write into the next bucket of a second sets it again, and later ones into that bucket keep it.
        try await TestLoop.loop.sleep(for: .milliseconds(1_050))
        try await store.spend(spent)
        try await store.spend(spent)
        #expect(spent.verdicts[0].remaining == 2)
        let expiry = try #require(try await connection.call(["PTTL", key(of: spent)]).integer)
        #expect(expiry > 59_000 && expiry <= 61_000)
        _ = try await connection.call(["SET", key(of: spent), "what is this"])
        try await store.spend(spent)
        #expect(spent.verdicts[0].remaining == 4)
        connection.close()
    }

    @Test @Reactor func `a forgotten script costs no verdict`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = WindowStore(connection: connection)
        let spent = charge(WindowRule(name: "r", per: [.app], limit: 100, window: .seconds(60)))
        for count in 1...3 {
            _ = try await connection.call(["SCRIPT", "FLUSH"])
            try await store.spend(spent)
            #expect(spent.verdicts[0].remaining == 100 - count)
        }
        connection.close()
    }

    @Test @Reactor func `without a store there is no verdict`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = WindowStore(connection: connection)
        let spent = charge(WindowRule(name: "r", per: [.app], limit: 5, window: .seconds(60)))
        server.kill()
        #expect(await eventually { !connection.isReady })
        await #expect(throws: StoreError.unavailable) { try await store.spend(spent) }
        #expect(!spent.isAdmitted)
        connection.close()
    }

    /// The script with the clock in its last two arguments, against the model in Swift.
    @Test(arguments: 0..<8) @Reactor
    func `the script answers as the model does`(seed: Int) async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let script = RedisScript(WindowScript.source(time: "{ ARGV[#ARGV - 1], ARGV[#ARGV] }"))
        var random = SeededRandom(state: UInt64(seed))
        // Days long, so that Redis' own clock expires nothing meanwhile.
        let rules = [
            WindowRule(name: "a", per: [.app], limit: Int.random(in: 1...40, using: &random), window: .seconds(86_400)),
            WindowRule(
                name: "b",
                per: [.app],
                limit: Int.random(in: 3...90, using: &random),
                window: .seconds(40_000),
                cost: 2,
                isShadow: seed % 2 == 1
            ),
        ]
        var models = rules.map { SlidingWindow(limit: $0.limit, window: $0.window) }
        var time: Int64 = 1_700_000_000_000_000
        for step in 0..<400 {
            switch Int.random(in: 0..<12, using: &random) {
            case 0: time += Int64.random(in: 0...90_000_000_000, using: &random)
            case 1: time -= Int64.random(in: 0...2_000_000_000, using: &random)
            default: time += Int64.random(in: 0...4_000_000_000, using: &random)
            }
            let expected = verdicts(of: rules, &models, at: time)
            let arguments = rules.flatMap { rule in
                [
                    RedisArgument.number(rule.limit), .number(Int(rule.geometry.bucketMicroseconds)),
                    .number(rule.isShadow ? -rule.cost : rule.cost),
                ]
            }
            let reply = try await connection.evaluate(
                script,
                keys: ["{x}:a", "{x}:b"],
                arguments: arguments + [.number(Int(time / 1_000_000)), .number(Int(time % 1_000_000))]
            )
            let bytes = try #require(reply.bytes)
            #expect(bytes == expected, "step \(step)")
        }
        connection.close()
    }

    private func verdicts(of rules: [WindowRule], _ models: inout [SlidingWindow], at time: Int64) -> [UInt8] {
        var answers = rules.indices.map { models[$0].spend(rules[$0].cost, at: time, commits: false) }
        let isAdmitted = rules.indices.allSatisfy { answers[$0].isAdmitted || rules[$0].isShadow }
        if isAdmitted {
            for index in rules.indices {
                let committed = models[index].spend(rules[index].cost, at: time)
                if answers[index].isAdmitted { answers[index] = committed }
            }
        }
        var bytes: [UInt8] = [isAdmitted ? 1 : 0]
        for answer in answers {
            bytes.append(answer.isAdmitted ? 1 : 0)
            for value in [answer.remaining, answer.resetMilliseconds.map(Int.init) ?? 0xffff_ffff] {
                for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
            }
        }
        return bytes
    }

    @Test @Reactor func `in real time no interval as long as the window holds more than the limit`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = WindowStore(connection: connection)
        let rule = WindowRule(name: "r", per: [.app], limit: 30, window: .seconds(1))
        let spent = charge(rule)
        var random = SeededRandom(state: 7)
        /// Just before the call and just after its answer: the admission lies between.
        var admissions: [(before: MonotonicInstant, after: MonotonicInstant)] = []
        let end = MonotonicInstant.readClock().advanced(by: .seconds(4))
        // On a busy machine it goes on until the window was full once.
        while MonotonicInstant.readClock() < end || admissions.count < rule.limit {
            let before = MonotonicInstant.readClock()
            try await store.spend(spent)
            if spent.isAdmitted { admissions.append((before, .readClock())) }
            let pause = Int.random(in: 0..<8, using: &random) == 0 ? 200 : Int.random(in: 0...3, using: &random)
            if pause > 0 { try await TestLoop.loop.sleep(for: .milliseconds(pause)) }
        }
        for (index, first) in admissions.enumerated() where index + rule.limit < admissions.count {
            let next = admissions[index + rule.limit]
            #expect(next.after.duration(since: first.before) >= .seconds(1))
        }
        #expect(admissions.count >= rule.limit)
        connection.close()
    }
}

@Reactor
private final class AdmissionCounter: WindowReceiver {
    var answers = 0
    var admitted = 0
    var failures = 0

    func windowsAnswered(_ charge: WindowCharge, failure: StoreError?, token: Int) {
        answers += 1
        if failure != nil { failures += 1 }
        if charge.isAdmitted { admitted += 1 }
    }
}
