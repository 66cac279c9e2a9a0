// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Store
import Synchronization
import Telemetry
import Transport

/// A private redis-server in a folder of its own, as the supervisor would run it; killed and removed at the end.
final class RedisServer: Sendable {
    let embedded: EmbeddedRedis
    private let folder: TemporaryFolder
    private let process = Mutex<pid_t>(0)

    /// Starts a server off the loop and waits until it answers; `settings` are added to the configuration.
    @concurrent
    static func launched(settings: String = "") async throws -> RedisServer {
        try RedisServer(settings: settings)
    }

    private init(settings: String = "") throws {
        folder = try TemporaryFolder()
        embedded = try EmbeddedRedis(preparing: folder.path + "/redis")
        if !settings.isEmpty {
            let descriptor = unsafe open(embedded.configurationPath, O_WRONLY | O_APPEND)
            let bytes = [UInt8]((settings + "\n").utf8)
            _ = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
            Glibc.close(descriptor)
        }
        try start()
    }

    deinit {
        kill()
    }

    /// Starts the server again in the same folder, off the loop.
    @concurrent
    func restart() async throws {
        try start()
    }

    private func start() throws {
        let spawned = try TemporaryFolder.spawn(["/usr/bin/redis-server", embedded.configurationPath])
        process.withLock { $0 = spawned }
        for _ in 0..<2_000 {
            if isAnswering { return }
            usleep(10_000)
        }
        throw RedisServerProblem.notReady
    }

    /// A TCP port that nobody has, below those that the system gives to connections.
    static func freePort() throws -> UInt16 {
        for _ in 0..<1_000 {
            let port = UInt16.random(in: 12_000...32_000)
            guard let address = IPAddress(parsing: "127.0.0.1") else { break }
            do {
                Glibc.close(try ListeningDescriptor.open(.ip(address, port: port)))
                return port
            } catch {
                continue
            }
        }
        throw RedisServerProblem.notReady
    }

    /// Whether the server answers a PING now.
    private var isAnswering: Bool {
        guard let password = embedded.endpoint.password?.exposed, let user = embedded.endpoint.user else {
            return false
        }
        return BlockingProbe.exchange(
            socket: embedded.socketPath,
            sending: "AUTH \(user) \(password)\r\nPING\r\n",
            expecting: "+OK\r\n+PONG\r\n"
        )
    }

    /// kill -9, and waits until it is gone.
    func kill() {
        process.withLock { process in
            guard process > 0 else { return }
            Glibc.kill(process, SIGKILL)
            waitpid(process, nil, 0)
            process = 0
        }
    }

    /// Stops or continues it without ending it.
    func signal(_ number: CInt) {
        process.withLock { process in _ = Glibc.kill(process, number) }
    }
}

enum RedisServerProblem: Error {
    case notSpawned, notReady
}
