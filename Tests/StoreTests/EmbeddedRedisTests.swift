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

    @Test @Reactor func `it syncs every write while a change is under way, and once a second otherwise`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let sync = ChangeSync(connection: connection)
        func policy() async throws -> String? {
            try await connection.call(["CONFIG", "GET", "appendfsync"]).elements?.last?.text
        }
        sync.relax()
        #expect(try await policy() == "everysec")
        try await sync.begin(within: .seconds(1))
        try await sync.begin(within: .seconds(1))
        #expect(try await policy() == "always")
        sync.end()
        #expect(try await policy() == "always", "the other change is still under way")
        sync.end()
        #expect(try await policy() == "everysec")
        connection.close()
    }

    @Test @Reactor func `a running server is found again, a dead one is not`() async throws {
        let server = try await RedisServer.launched()
        let again = try EmbeddedRedis(preparing: server.embedded.directory)
        #expect(again.endpoint == server.embedded.endpoint)
        #expect(again.runningProcess() == server.currentProcess)
        #expect(again.isAnswering())
        server.kill()
        #expect(again.runningProcess() == nil)
        #expect(!again.isAnswering())
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
