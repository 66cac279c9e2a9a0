// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings
import Glibc
import Telemetry

/// The private Redis of a gateway: its folder, its configuration and how to reach it.
///
/// Made by the supervisor before it spawns `arguments`; workers get the endpoint from the same folder. No TCP port, a
/// socket of mode 600 in a folder of mode 700, one ACL user with a random password, no eviction. Registry changes
/// are on disk before their answer (`ChangeSync`), everything else within a second.
package struct EmbeddedRedis: Sendable {
    /// The absolute path of the folder.
    package let directory: String
    package let endpoint: RedisEndpoint

    /// The name that Redis knows us by.
    private static let user = "sallyport"

    /// Makes the folder, the password and the configuration; what exists is kept, the configuration is written again.
    package init(preparing directory: String) throws(EmbeddedRedisProblem) {
        try PrivateFiles.makeDirectory(directory)
        let absolute = try PrivateFiles.absolutePath(directory)
        let passwordPath = absolute + "/password"
        if try PrivateFiles.read(passwordPath) == nil {
            try PrivateFiles.write(Self.randomPassword(), to: passwordPath)
        }
        try self.init(reading: directory)
        try PrivateFiles.write(configuration, to: configurationPath)
    }

    /// Reads what a supervisor prepared.
    package init(reading directory: String) throws(EmbeddedRedisProblem) {
        let absolute = try PrivateFiles.absolutePath(directory)
        let socket = absolute + "/redis.sock"
        // sun_path holds 108 bytes with the closing zero.
        guard socket.utf8.count <= 107 else {
            throw EmbeddedRedisProblem(path: socket, reason: "longer than a socket's path may be")
        }
        guard let password = try PrivateFiles.read(absolute + "/password"), password.utf8.count == 64 else {
            throw EmbeddedRedisProblem(path: absolute + "/password", reason: "missing or damaged")
        }
        self.directory = absolute
        var endpoint = RedisEndpoint(
            address: .unix(path: socket),
            user: Self.user,
            password: Secret(password)
        )
        endpoint.losesNothing = true
        self.endpoint = endpoint
    }

    package var socketPath: String { directory + "/redis.sock" }
    package var configurationPath: String { directory + "/redis.conf" }

    /// What to spawn, the program's name first; it stays in the foreground and logs to its standard output.
    package var arguments: [String] { ["redis-server", configurationPath] }

    /// The path of `redis-server` in a search path such as `PATH`, nil where it is not installed.
    package static func executable(searching path: String) -> String? {
        for folder in path.split(separator: ":").map(String.init) + ["/usr/bin", "/usr/local/bin"] {
            let candidate = folder + "/redis-server"
            if unsafe access(candidate, X_OK) == 0 { return candidate }
        }
        return nil
    }

    private static func randomPassword() throws(EmbeddedRedisProblem) -> String {
        do {
            return Hex.encode(try SecretBytes(random: 32).copy())
        } catch {
            throw EmbeddedRedisProblem(path: "", reason: "no randomness")
        }
    }

    private var configuration: String {
        let hash = Hex.encode(SHA256.hash([UInt8]((endpoint.password?.exposed ?? "").utf8)).bytes)
        return """
            # Written by sallyport at each start; changes here are lost.
            port 0
            unixsocket \(quoted(socketPath))
            unixsocketperm 600
            dir \(quoted(directory))
            pidfile \(quoted(directory + "/redis.pid"))
            daemonize no
            logfile ""
            databases 1
            save ""
            appendonly yes
            appendfsync always
            no-appendfsync-on-rewrite no
            aof-load-truncated yes
            maxmemory-policy noeviction
            # Nobody can be this user, but the append-only file is replayed as it: with fewer rights, transactions
            # in the file would be thrown away at the next start.
            user default off resetpass ~* &* +@all
            user \(Self.user) on #\(hash) ~* &* +@all -@admin -flushall -flushdb -swapdb -keys +config|get +config|set

            """
    }

    private func quoted(_ path: String) -> String {
        var text = "\""
        for character in path {
            if character == "\"" || character == "\\" { text.append("\\") }
            text.append(character)
        }
        return text + "\""
    }
}

/// What stands in the way of the private Redis.
package struct EmbeddedRedisProblem: Error, Equatable, CustomStringConvertible {
    package let path: String
    package let reason: String

    package var description: String { path.isEmpty ? reason : "\(path): \(reason)" }
}
