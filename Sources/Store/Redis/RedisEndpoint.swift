// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Where Redis is and who we are to it: `redis://[user[:password]@]host[:port][/database]`, `rediss://…` for TLS, or
/// `unix:path`.
package struct RedisEndpoint: Sendable, Equatable {
    /// The ways to reach a server.
    package enum Address: Sendable, Equatable {
        case unix(path: String)
        case tcp(host: String, port: UInt16, isTLS: Bool)
    }

    package var address: Address
    /// The ACL user; nil means `default`.
    package var user: String?
    package var password: RedisPassword?
    package var database: Int

    package init(address: Address, user: String? = nil, password: RedisPassword? = nil, database: Int = 0) {
        self.address = address
        self.user = user
        self.password = password
        self.database = database
    }

    /// Reads a URL as configuration writes it.
    package init(parsing text: String) throws(RedisEndpointProblem) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst("unix:".count))
            guard !path.isEmpty else { throw .path }
            self.init(address: .unix(path: path))
            return
        }
        let isTLS = text.hasPrefix("rediss://")
        guard isTLS || text.hasPrefix("redis://") else { throw .scheme }
        var rest = text.dropFirst(isTLS ? "rediss://".count : "redis://".count)
        var database = 0
        if let slash = rest.firstIndex(of: "/") {
            let digits = rest[rest.index(after: slash)...]
            if !digits.isEmpty {
                guard let number = Int(digits), (0...15).contains(number) else { throw .database }
                database = number
            }
            rest = rest[..<slash]
        }
        var user: String?
        var password: RedisPassword?
        if let at = rest.lastIndex(of: "@") {
            (user, password) = try Self.credentials(in: rest[..<at])
            rest = rest[rest.index(after: at)...]
        }
        let (host, port) = try Self.authority(rest)
        self.init(
            address: .tcp(host: host, port: port, isTLS: isTLS),
            user: user,
            password: password,
            database: database
        )
    }

    private static func credentials(
        in text: Substring
    ) throws(RedisEndpointProblem) -> (String?, RedisPassword?) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = try percentDecoded(parts[0])
        let secret = parts.count == 2 ? try percentDecoded(parts[1]) : ""
        return (name.isEmpty ? nil : name, secret.isEmpty ? nil : RedisPassword(secret))
    }

    private static func authority(_ text: Substring) throws(RedisEndpointProblem) -> (String, UInt16) {
        var host = text
        var port: UInt16 = 6379
        let portStart = text.lastIndex(of: "]").map { text.index(after: $0) } ?? text.startIndex
        if let colon = text[portStart...].lastIndex(of: ":") {
            guard let number = UInt16(text[text.index(after: colon)...]), number > 0 else { throw .port }
            port = number
            host = text[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, !host.contains("["), !host.contains(" ") else { throw .host }
        return (String(host), port)
    }

    private static func percentDecoded(_ text: Substring) throws(RedisEndpointProblem) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(Substring(rest.prefix(2))), radix: 16) else {
                throw .credentials
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else { throw .credentials }
        return decoded
    }
}

/// Which part of a Redis URL is wrong.
package enum RedisEndpointProblem: Error, Equatable {
    case scheme, host, port, database, credentials, path
}

/// A password that prints as dots.
package struct RedisPassword: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
    let text: String

    package init(_ text: String) { self.text = text }

    package var description: String { "…" }
    package var debugDescription: String { "…" }
}
