// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The keys of `state`.
enum StateSection {
    static let redis = Setting(
        "redis",
        ValueKind.redis,
        .standard(.embedded),
        "`embedded` runs a private Redis; otherwise `redis://host:port/0`, `rediss://host:port/0` or `unix:path`.",
        reload: .restart
    )
    static let user = Setting("redis_user", ValueKind.text, .optional, "ACL user of that Redis.", reload: .restart)
    static let password = Setting(
        "redis_password",
        ValueKind.secret,
        .optional,
        "Its password.",
        reload: .restart
    )
    static let authorities = Setting(
        "redis_ca",
        ValueKind.startingAuthorities,
        .optional,
        "PEM file of the authorities to trust for rediss. Left out: the system's.",
        reload: .restart
    )
    static let directory = Setting(
        "directory",
        ValueKind.directory,
        .standard("state"),
        "Keys, sockets, shared counters and the embedded Redis live here.",
        reload: .restart
    )
    static let serveStale = Setting(
        "serve_stale",
        .duration(.seconds(2)...(.seconds(3_600))),
        .standard(.seconds(30)),
        "How long a worker serves without word from Redis; also how late a revocation can be. Time for a failover.",
        reload: .restart
    )
    static let deadline = Setting(
        "deadline",
        .duration(.milliseconds(10)...(.seconds(10))),
        .standard(.milliseconds(250)),
        "Longest wait of a request for Redis: a hundred times its usual answer.",
        reload: .restart
    )
    static let onLoss = Setting("on_loss", LossSection.kind, .implied, "What happens while Redis is away.")

    static let schema = SectionSchema(
        "state",
        [
            redis.row, user.row, password.row, authorities.row, directory.row, serveStale.row, deadline.row,
            onLoss.row,
        ]
    )

    static let kind = ValueKind<StateSettings>.section(schema) { section in
        let redis = server(section)
        let directory = section.value(directory)
        let serveStale = section.value(serveStale)
        let deadline = section.value(deadline)
        guard let windows = section.value(onLoss), let redis, let directory, let serveStale, let deadline else {
            return nil
        }
        let path = section.context.absolute(directory)
        // The longest of the sockets in it; sockaddr_un holds 107 bytes and a zero.
        if path.utf8.count + "/redis/redis.sock".utf8.count > 107 {
            section.report("the path is too long for the sockets in it: at most 90 bytes", at: "directory", found: path)
        }
        if section.context.surroundings == .starting, let problem = Places.folderProblem(path) {
            section.report(problem, at: "directory", found: path, isOfThisMachine: true)
        }
        return StateSettings(
            redis: redis,
            directory: path,
            serveStale: serveStale,
            deadline: deadline,
            windowsOnLoss: windows
        )
    }

    /// The URL with what stands beside it.
    private static func server(_ section: SectionReader) -> RedisSettings? {
        let user = section.value(user)
        let password = section.value(password)
        let authorities = section.value(authorities)
        guard let redis = section.value(redis) else { return nil }
        guard case .server(var server) = redis else {
            for key in ["redis_user", "redis_password", "redis_ca"] where section.has(key) {
                section.report("\(key) is for a Redis of your own, and redis is embedded", at: key)
            }
            return redis
        }
        server.user = user
        server.password = password
        server.authorities = authorities
        if authorities != nil, !server.usesTLS { section.report("redis_ca needs a rediss:// address", at: "redis_ca") }
        if user != nil, password == nil { section.report("redis_user needs redis_password", at: "redis_user") }
        return .server(server)
    }
}

/// The keys of `state.on_loss`.
enum LossSection {
    static let windows = Setting(
        "windows",
        ValueKind<WindowLossPolicy>.choice,
        .standard(.estimate),
        "Limits while Redis is away: counted by each worker alone, not at all, or everything is refused."
    )

    static let schema = SectionSchema("state.on_loss", [windows.row])

    static let kind = ValueKind<WindowLossPolicy>.section(schema) { $0.value(windows) }
}

extension ValueKind where Value == String {
    /// A path that is kept as written until its section makes it absolute, so that the standard value reads well.
    static let directory = ValueKind("path", "a path", parse: { $0.isEmpty ? nil : $0 }, write: { $0 })
}

extension ValueKind where Value == RedisSettings {
    /// Which Redis; a password in the address would be a secret in the file.
    static let redis = ValueKind(
        "Redis",
        read: { reader in
            let expectation = "embedded, redis://host:port/database, rediss://host:port/database or unix:path"
            guard let text = reader.text(expectation) else { return nil }
            if text == "embedded" { return .embedded }
            if text.contains("@") {
                return reader.refuseSilently("user and password go into redis_user and redis_password, not the address")
            }
            if text.hasPrefix("unix:") {
                guard let path = AddressText.socketPath(text, reader) else { return nil }
                return .server(server(.unix(path: path), false, 0))
            }
            guard let mark = text.firstRange(of: "://") else {
                return reader.refuse(expectation, hint: NearMatch.closest(to: text, among: ["embedded"]))
            }
            let slash = text[mark.upperBound...].firstIndex(of: "/") ?? text.endIndex
            let number = text[slash...].dropFirst()
            guard let database = number.isEmpty ? 0 : Int(number), 0...15 ~= database,
                let (address, usesTLS) = AddressText.endpoint(
                    String(text[..<slash]),
                    secure: "rediss",
                    clear: "redis",
                    ports: (6379, 6379)
                )
            else { return reader.refuse(expectation) }
            return .server(server(address, usesTLS, database))
        },
        write: { _ in "embedded" }
    )

    private static func server(_ address: ConfiguredAddress, _ usesTLS: Bool, _ database: Int) -> RedisServerSettings {
        RedisServerSettings(
            address: address,
            usesTLS: usesTLS,
            authorities: nil,
            user: nil,
            password: nil,
            database: database
        )
    }
}
