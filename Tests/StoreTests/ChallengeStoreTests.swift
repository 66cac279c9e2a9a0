// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Limits
import Testing
import Transport

@testable import Store

@Suite(.onLoop) struct ChallengeStoreTests {
    private let app = RecordID(rawValue: "000000000000000000000001")
    private let other = RecordID(rawValue: "000000000000000000000002")
    private let home = ClientNetwork(ipv4: 0x0a00_0001)

    @Reactor
    private func issue(
        _ challenge: String,
        in store: ChallengeStore,
        network: ClientNetwork? = nil,
        lifetime: Duration = .seconds(300)
    ) async throws {
        _ = try await store.issue(
            challenge,
            app: app,
            dialect: .offlineid,
            network: network ?? home,
            lifetime: lifetime
        )
    }

    @Test @Reactor func `of fifty who present a challenge at once one succeeds`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = ChallengeStore(connection: connection)
        for round in 0..<10 {
            let challenge = "c\(round)"
            try await issue(challenge, in: store)
            let takes = (0..<50).map { _ in
                Task { @Reactor in try await store.take(challenge, app: app, dialect: .offlineid) }
            }
            var successes = 0
            for take in takes where try await take.value { successes += 1 }
            #expect(successes == 1)
        }
        connection.close()
    }

    @Test @Reactor func `a challenge is its app's and its dialect's alone`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = ChallengeStore(connection: connection)
        try await issue("c", in: store)
        #expect(try await !store.take("c", app: other, dialect: .offlineid))
        #expect(try await !store.take("c", app: app, dialect: .appengine))
        #expect(try await !store.take("c", app: app, dialect: .offlineid, isTest: true))
        #expect(try await !store.take("d", app: app, dialect: .offlineid))
        #expect(try await store.take("c", app: app, dialect: .offlineid))
        connection.close()
    }

    @Test @Reactor func `an expired challenge is refused and purged`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = ChallengeStore(connection: connection)
        try await issue("c", in: store, lifetime: .milliseconds(80))
        try await TestLoop.loop.sleep(for: .milliseconds(120))
        #expect(try await !store.take("c", app: app, dialect: .offlineid))
        try await issue("d", in: store, lifetime: .milliseconds(10))
        try await TestLoop.loop.sleep(for: .milliseconds(1_300))
        #expect(try await connection.call(["DBSIZE"]) == .integer(0))
        connection.close()
    }

    @Test @Reactor func `a flood from one address takes only its own`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = ChallengeStore(connection: connection)
        try await issue("phone", in: store)
        for number in 0..<1_500 { try await issue("flood\(number)", in: store, network: ClientNetwork(ipv4: 7)) }
        #expect(try await store.take("phone", app: app, dialect: .offlineid))
        #expect(try await !store.take("flood0", app: app, dialect: .offlineid))
        #expect(try await store.take("flood1499", app: app, dialect: .offlineid))
        let left = try await connection.call(["ZCARD", .text("{\(app.rawValue)}:c:offlineid:")])
        #expect(left == .integer(999))
        connection.close()
    }

    @Test @Reactor func `a flood from some addresses takes from those who hold most`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = ChallengeStore(connection: connection)
        try await issue("phone", in: store)
        // Twenty-five addresses may have 1,000 each, the app 20,000.
        for start in stride(from: 0, to: 45_000, by: 500) {
            let calls = (start..<start + 500).map { number in
                Task { @Reactor in
                    try await issue("f\(number)", in: store, network: ClientNetwork(ipv4: UInt32(7 + number % 25)))
                }
            }
            for call in calls { try await call.value }
        }
        let set = "{\(app.rawValue)}:c:offlineid:"
        #expect(try await connection.call(["ZCARD", .text(set)]) == .integer(20_000))
        #expect(try await connection.call(["HLEN", .text("\(set):from")]) == .integer(20_000))
        #expect(try await connection.call(["ZCARD", .text("\(set):most")]) == .integer(26))
        #expect(try await store.take("phone", app: app, dialect: .offlineid))
        #expect(try await !store.take("f0", app: app, dialect: .offlineid))
        #expect(try await store.take("f44999", app: app, dialect: .offlineid))
        connection.close()
    }

    @Test @Reactor func `addresses without number leave no more behind than an app may have`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = ChallengeStore(connection: connection)
        for start in stride(from: 0, to: 25_000, by: 500) {
            let calls = (start..<start + 500).map { number in
                Task { @Reactor in
                    try await issue("f\(number)", in: store, network: ClientNetwork(ipv4: UInt32(number)))
                }
            }
            for call in calls { try await call.value }
        }
        #expect(try await connection.call(["DBSIZE"]) == .integer(20_003))
        #expect(try await store.take("f24999", app: app, dialect: .offlineid))
        #expect(try await connection.call(["DBSIZE"]) == .integer(20_002))
        connection.close()
    }

    @Test @Reactor func `a challenge survives a restart of the embedded store, not another's failover`() async throws {
        let server = try await RedisServer.launched()
        var endpoint = server.embedded.endpoint
        endpoint.losesNothing = false
        let external = RedisConnection(
            loop: TestLoop.loop,
            endpoint: endpoint,
            options: RedisConnection.Options(name: "external", deadline: .seconds(2))
        )
        external.start()
        try await external.becomeReady(within: .seconds(5))
        let connection = try await server.connected()
        let stores = [ChallengeStore(connection: connection), ChallengeStore(connection: external)]
        for store in stores { try await issue("c", in: store) }
        server.kill()
        #expect(await eventually { !connection.isReady && !external.isReady })
        try await server.restart()
        try await connection.becomeReady(within: .seconds(5))
        try await external.becomeReady(within: .seconds(5))
        #expect(try await stores[0].take("c", app: app, dialect: .offlineid))
        #expect(try await !stores[1].take("c", app: app, dialect: .offlineid))
        connection.close()
        external.close()
    }
}
