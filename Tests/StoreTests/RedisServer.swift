// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Store
import Synchronization

/// A private redis-server in a folder of its own, as the supervisor would run it; killed and removed at the end.
final class RedisServer: Sendable {
    let embedded: EmbeddedRedis
    let directory: String
    private let process = Mutex<pid_t>(0)

    /// Starts a server off the loop and waits until it answers; `settings` are added to the configuration.
    @concurrent
    static func launched(settings: String = "") async throws -> RedisServer {
        try RedisServer(settings: settings)
    }

    private init(settings: String = "") throws {
        var template = [CChar]("/tmp/sallyport-store-XXXXXX".utf8CString)
        let made = unsafe template.withUnsafeMutableBufferPointer { unsafe mkdtemp($0.baseAddress.unsafelyUnwrapped) }
        guard let path = unsafe made.map({ unsafe String(cString: $0) }) else { throw RedisServerProblem.notSpawned }
        directory = path
        embedded = try EmbeddedRedis(preparing: path + "/redis")
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
        remove(directory + "/redis")
        unsafe rmdir(directory)
    }

    /// Starts the server again in the same folder, off the loop.
    @concurrent
    func restart() async throws {
        try start()
    }

    private func start() throws {
        let spawned = try spawn(["/usr/bin/redis-server", embedded.configurationPath])
        process.withLock { $0 = spawned }
        for _ in 0..<500 {
            if embedded.isAnswering() { return }
            usleep(10_000)
        }
        throw RedisServerProblem.notReady
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

    /// The server's process id.
    var currentProcess: pid_t { process.withLock { $0 } }

    /// Stops or continues it without ending it.
    func signal(_ number: CInt) {
        process.withLock { process in _ = Glibc.kill(process, number) }
    }

    private func spawn(_ arguments: [String]) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        var texts: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
        unsafe texts.append(nil)
        defer { unsafe texts.forEach { unsafe free($0) } }
        var process: pid_t = 0
        guard unsafe posix_spawn(&process, arguments[0], &actions, nil, texts, environ) == 0 else {
            throw RedisServerProblem.notSpawned
        }
        return process
    }

    private func remove(_ path: String) {
        guard let folder = unsafe opendir(path) else { return }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        unsafe closedir(folder)
        for name in names where unsafe unlink(path + "/" + name) != 0 { remove(path + "/" + name) }
        unsafe rmdir(path)
    }
}

enum RedisServerProblem: Error {
    case notSpawned, notReady
}
