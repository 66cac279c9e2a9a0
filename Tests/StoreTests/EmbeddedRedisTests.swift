// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Telemetry
import Testing
import Transport

@testable import Store

@Suite(.onLoop) struct EmbeddedRedisTests {
    private func mode(_ path: String) -> mode_t {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return 0 }
        return status.st_mode & 0o777
    }

    @Test @Reactor func `nobody else can read or reach it`() async throws {
        let server = try await RedisServer.launched()
        let embedded = server.embedded
        #expect(mode(embedded.directory) == 0o700)
        #expect(mode(embedded.socketPath) == 0o600)
        #expect(mode(embedded.configurationPath) == 0o600)
        #expect(mode(embedded.directory + "/password") == 0o600)
        let configuration = try #require(try PrivateFiles.read(embedded.configurationPath))
        let password = try #require(embedded.endpoint.password?.exposed)
        #expect(!configuration.contains(password))
        #expect(configuration.contains("port 0\n"))
        var stranger = embedded.endpoint
        stranger.user = nil
        stranger.password = nil
        let connection = RedisConnection(
            loop: TestLoop.loop,
            endpoint: stranger,
            options: RedisConnection.Options(name: "stranger")
        )
        connection.start()
        await #expect(throws: StoreError.unavailable) { try await connection.becomeReady(within: .milliseconds(200)) }
        #expect(connection.lastFailure?.contains("NOAUTH") == true)
        connection.close()
    }

    @Test @Reactor func `our user cannot wipe it, stop it or write its configuration`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        for command in [
            ["FLUSHALL"], ["CONFIG", "REWRITE"], ["SHUTDOWN", "NOSAVE"], ["DEBUG", "SLEEP", "0"], ["KEYS", "*"],
        ] {
            await #expect(throws: StoreError.refused("")) {
                try await connection.call(command.map { RedisArgument.text($0) })
            }
        }
        #expect(try await connection.call(["CONFIG", "GET", "appendfsync"]).elements?.last?.text == "always")
        connection.close()
    }

    /// Whether every write is synced before its answer.
    @Reactor
    private func syncs(_ connection: RedisConnection) async throws -> Bool {
        try await connection.call(["CONFIG", "GET", "appendfsync"]).elements?.last?.text == "always"
    }

    @Reactor
    private func relaxes(_ connection: RedisConnection) async throws -> Bool {
        for _ in 0..<500 {
            if try await !syncs(connection) { return true }
            try await TestLoop.loop.sleep(for: .milliseconds(10))
        }
        return false
    }

    @Test @Reactor func `it syncs every write while a change is under way, and once a second otherwise`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let sync = ChangeSync(connection: connection)
        sync.relax()
        #expect(try await relaxes(connection))
        let first = try await sync.begin(within: .seconds(10))
        let second = try await sync.begin(within: .seconds(10))
        #expect(try await syncs(connection))
        sync.end(first)
        #expect(try await syncs(connection), "the other change is still under way")
        sync.end(second)
        #expect(try await relaxes(connection))
        connection.close()
    }

    @Test @Reactor func `no process ends the syncs of another's change`() async throws {
        let server = try await RedisServer.launched()
        let (here, there) = (try await server.connected(), try await server.connected())
        let (ours, theirs) = (ChangeSync(connection: here), ChangeSync(connection: there))
        for _ in 0..<20 {
            let change = try await ours.begin(within: .seconds(10))
            theirs.end(try await theirs.begin(within: .seconds(10)))
            theirs.relax()
            // Behind everything that the others sent.
            for _ in 0..<4 { _ = try await there.call(["PING"]) }
            #expect(try await syncs(here))
            ours.end(change)
            #expect(try await relaxes(here))
        }
        here.close()
        there.close()
    }

    @Test @Reactor func `a process that dies in a change holds up the others for a while only`() async throws {
        let server = try await RedisServer.launched()
        let (here, there) = (try await server.connected(), try await server.connected())
        _ = try await ChangeSync(connection: there).begin(within: .seconds(10))
        there.close()
        let ours = ChangeSync(connection: here)
        ours.end(try await ours.begin(within: .seconds(10)))
        for _ in 0..<4 { _ = try await here.call(["PING"]) }
        #expect(try await syncs(here))
        let noted = try await here.call(["ZRANGE", .text(RegistryScripts.underWay), "0", "-1"]).elements ?? []
        #expect(noted.count == 1)
        for name in noted.compactMap(\.text) {
            _ = try await here.call(["ZADD", .text(RegistryScripts.underWay), "1", .text(name)])
        }
        ours.relax()
        #expect(try await relaxes(here))
        here.close()
    }

    @Test @Reactor func `what is prepared again is what was there`() async throws {
        let server = try await RedisServer.launched()
        let again = try EmbeddedRedis(preparing: server.embedded.directory)
        #expect(again.endpoint == server.embedded.endpoint)
    }

    @Test func `a folder whose socket's path is too long is refused`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/" + String(repeating: "x", count: 100)
        #expect(throws: EmbeddedRedisProblem.self) { try EmbeddedRedis(preparing: path) }
    }

    @Test func `a damaged password is a problem, not a new server`() throws {
        let folder = try TemporaryFolder()
        try PrivateFiles.write("short", to: folder.path + "/password")
        #expect(throws: EmbeddedRedisProblem.self) { try EmbeddedRedis(preparing: folder.path) }
    }
}
