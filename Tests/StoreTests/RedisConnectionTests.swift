// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Telemetry
import Testing
import Transport

@testable import Store

@Suite(.onLoop) struct RedisConnectionTests {
    @Test @Reactor func `a command is answered and an error is thrown`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        #expect(try await connection.call(["SET", "k", "v"]) == .status("OK"))
        #expect(try await connection.call(["GET", "k"]) == .bytes(Array("v".utf8)))
        #expect(try await connection.call(["GET", "none"]) == .null)
        await #expect(throws: StoreError.refused("")) { try await connection.call(["INCR", "k"]) }
        connection.close()
    }

    @Test @Reactor func `a ping makes a server say something, unless it is stopped`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let greeted = connection.lastHeard
        #expect(greeted != nil)
        connection.ping()
        #expect(await eventually { connection.lastHeard != greeted })
        server.signal(SIGSTOP)
        let last = connection.lastHeard
        connection.ping()
        #expect(await !eventually(within: .milliseconds(300)) { connection.lastHeard != last })
        server.signal(SIGCONT)
        connection.close()
        connection.ping()
    }

    @Test @Reactor func `calls made in one turn each get their own answer`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let calls = (0..<2_000).map { number in
            Task { @Reactor in try await connection.call(["ECHO", .number(number)]).integer }
        }
        for (number, call) in calls.enumerated() { #expect(try await call.value == Int64(number)) }
        connection.close()
    }

    @Test @Reactor func `a script that the server forgot is sent again`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let script = RedisScript("return ARGV[1] + 1")
        for _ in 0..<2 {
            #expect(try await connection.evaluate(script, keys: [], arguments: [41]) == .integer(42))
            _ = try await connection.call(["SCRIPT", "FLUSH"])
        }
        connection.close()
    }

    @Test @Reactor func `without a connection a call fails at once`() async throws {
        let server = try await RedisServer.launched()
        let connection = RedisConnection(
            loop: TestLoop.loop,
            endpoint: server.embedded.endpoint,
            options: RedisConnection.Options(name: "test")
        )
        await #expect(throws: StoreError.unavailable) { try await connection.call(["PING"]) }
        connection.start()
        try await connection.becomeReady(within: .seconds(10))
        connection.close()
        await #expect(throws: StoreError.unavailable) { try await connection.call(["PING"]) }
    }

    @Test @Reactor func `a connection comes back by itself after kill -9`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let first = connection.generation
        server.kill()
        #expect(await eventually { !connection.isReady })
        await #expect(throws: StoreError.unavailable) { try await connection.call(["PING"]) }
        try await server.restart()
        try await connection.becomeReady(within: .seconds(10))
        #expect(connection.generation > first)
        #expect(try await connection.call(["PING"]) == .status("PONG"))
        connection.close()
    }

    @Test @Reactor func `a stopped server costs its deadline and then its connection`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected(deadline: .milliseconds(250))
        server.signal(SIGSTOP)
        let start = MonotonicInstant.readClock()
        await #expect(throws: StoreError.deadline) { try await connection.call(["PING"]) }
        let waited = MonotonicInstant.readClock().duration(since: start)
        // The loop's clock stands still within a turn, and a busy machine makes turns long.
        #expect(waited >= .milliseconds(150) && waited < .seconds(2))
        #expect(await eventually { !connection.isReady })
        server.signal(SIGCONT)
        try await connection.becomeReady(within: .seconds(10))
        #expect(try await connection.call(["PING"]) == .status("PONG"))
        connection.close()
    }

    @Test @Reactor func `a late answer is not given to the next call`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        server.signal(SIGSTOP)
        await #expect(throws: StoreError.deadline) {
            try await connection.call(["ECHO", "old"], deadline: .milliseconds(50))
        }
        server.signal(SIGCONT)
        #expect(try await connection.call(["ECHO", "new"]).text == "new")
        connection.close()
    }

    @Test @Reactor func `a wrong password is never ready and says why`() async throws {
        let server = try await RedisServer.launched()
        var endpoint = server.embedded.endpoint
        endpoint.password = Secret("wrong")
        let connection = RedisConnection(
            loop: TestLoop.loop,
            endpoint: endpoint,
            options: RedisConnection.Options(name: "test")
        )
        connection.start()
        #expect(await eventually { connection.lastFailure != nil })
        await #expect(throws: StoreError.unavailable) { try await connection.becomeReady(within: .milliseconds(300)) }
        let reason = try #require(connection.lastFailure)
        #expect(reason.contains("WRONGPASS"))
        #expect(!reason.contains("wrong\""))
        connection.close()
    }

    @Test @Reactor func `TCP with a user, a password and a database works`() async throws {
        let port = try RedisServer.freePort()
        let server = try await RedisServer.launched(settings: "port \(port)\nbind 127.0.0.1\ndatabases 4")
        var endpoint = server.embedded.endpoint
        endpoint.address = .tcp(host: "localhost", port: port, isTLS: false)
        endpoint.database = 3
        let connection = RedisConnection(
            loop: TestLoop.loop,
            endpoint: endpoint,
            options: RedisConnection.Options(name: "over-tcp", deadline: .seconds(5))
        )
        connection.start()
        try await connection.becomeReady(within: .seconds(10))
        let info = try #require(try await connection.call(["CLIENT", "INFO"]).text)
        #expect(info.contains("name=over-tcp"))
        #expect(info.contains("db=3"))
        connection.close()
    }
}

@Suite(.onLoop) struct RedisTLSTests {
    @Test @Reactor func `TLS is verified against the authorities and the name`() async throws {
        let port = try RedisServer.freePort()
        let folder = try TemporaryFolder()
        try await folder.makeCertificate(for: "localhost")
        let server = try await RedisServer.launched(
            settings: """
                tls-port \(port)
                bind 127.0.0.1
                tls-cert-file \(folder.path)/site.pem
                tls-key-file \(folder.path)/site.key
                tls-ca-cert-file \(folder.path)/site.pem
                tls-auth-clients no
                """
        )
        let pem = try #require(try PrivateFiles.read(folder.path + "/site.pem"))
        var endpoint = server.embedded.endpoint
        endpoint.address = .tcp(host: "localhost", port: port, isTLS: true)
        endpoint.authorities = Array(pem.utf8)
        #expect(await meets(endpoint) { $0.isReady })
        var stranger = endpoint
        stranger.authorities = nil
        #expect(await meets(stranger) { !$0.isReady && $0.lastFailure?.contains("TLS") == true })
        var misnamed = endpoint
        misnamed.address = .tcp(host: "127.0.0.1", port: port, isTLS: true)
        #expect(await meets(misnamed) { !$0.isReady && $0.lastFailure?.contains("TLS") == true })
        var clear = endpoint
        clear.address = .tcp(host: "localhost", port: port, isTLS: false)
        #expect(await meets(clear) { !$0.isReady && $0.lastFailure != nil })
    }

    /// Whether a connection to `endpoint` comes to be as `condition` says.
    @Reactor
    private func meets(_ endpoint: RedisEndpoint, _ condition: @Reactor (RedisConnection) -> Bool) async -> Bool {
        let connection = RedisConnection(
            loop: TestLoop.loop,
            endpoint: endpoint,
            options: RedisConnection.Options(name: "over-tls")
        )
        defer { connection.close() }
        connection.start()
        return await eventually { condition(connection) }
    }
}
