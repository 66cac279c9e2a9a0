// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// What we need of a Redis before we trust it with limits and revocations.
package enum RedisRequirements {
    /// Why a gateway on this Redis is not ready.
    package enum Problem: Sendable, Equatable, CustomStringConvertible {
        case version(String)
        case evicts(policy: String)
        case replica
        case cluster
        /// It answers, and takes nothing more.
        case full(most: Int)

        /// A sentence for `/readyz` and the log.
        package var description: String {
            switch self {
            case .version(let version): "Redis \(version) is too old; 6.2 or later is needed"
            case .evicts(let policy):
                "Redis evicts keys (maxmemory-policy \(policy)); set maxmemory-policy noeviction"
            case .replica: "Redis is a replica; the gateway writes and needs the primary"
            case .cluster: "Redis runs in cluster mode, which is not supported; one Redis is needed, with its replicas"
            case .full(let most):
                "Redis is full (maxmemory \(most)): it takes no changes and no leases, so that after state.serve_stale nobody is judged; give it more memory"
            }
        }
    }

    /// Asks the server; nil where everything needed is there.
    @Reactor
    package static func problem(of connection: RedisConnection) async throws(StoreError) -> Problem? {
        let facts = try await facts(of: connection, sections: ["server", "memory", "replication", "cluster"])
        let version = facts["redis_version"] ?? "unknown"
        if !isRecent(version) { return .version(version) }
        let policy = facts["maxmemory_policy"] ?? "unknown"
        if policy != "noeviction", facts["maxmemory"] != "0" { return .evicts(policy: policy) }
        if facts["cluster_enabled"] == "1" { return .cluster }
        if facts["role"] != "master" { return .replica }
        if let most = facts["maxmemory"].flatMap({ Int($0) }), most > 0,
            let used = facts["used_memory"].flatMap({ Int($0) }), used > most
        {
            return .full(most: most)
        }
        return nil
    }

    /// The name of this history of the data: another one after a failover or restart.
    @Reactor
    static func epoch(of connection: RedisConnection) async throws(StoreError) -> String {
        let facts = try await facts(of: connection, sections: ["replication"])
        guard let epoch = facts["master_replid"] else { throw .malformed("INFO without master_replid") }
        return epoch
    }

    /// The store's clock in milliseconds since 1970.
    @Reactor
    package static func time(of connection: RedisConnection) async throws(StoreError) -> Int64 {
        let reply = try await connection.call(["TIME"])
        guard let parts = reply.elements?.compactMap(\.text), parts.count == 2, let seconds = Int64(parts[0]),
            let microseconds = Int64(parts[1]), 0..<253_402_300_800 ~= seconds
        else { throw .malformed("TIME") }
        return seconds * 1000 + microseconds / 1000
    }

    @Reactor
    private static func facts(
        of connection: RedisConnection,
        sections: [String]
    ) async throws(StoreError) -> [String: String] {
        var facts: [String: String] = [:]
        // One section a call: servers before 7.0 take only one.
        for section in sections {
            guard let text = try await connection.call(["INFO", .text(section)]).text else {
                throw .malformed("INFO")
            }
            for line in text.split(whereSeparator: \.isNewline) {
                guard let colon = line.firstIndex(of: ":") else { continue }
                facts[String(line[..<colon])] = String(line[line.index(after: colon)...])
            }
        }
        return facts
    }

    static func isRecent(_ version: String) -> Bool {
        let parts = version.split(separator: ".").map { Int($0) }
        guard parts.count >= 2, let major = parts[0], let minor = parts[1] else { return false }
        return major > 6 || (major == 6 && minor >= 2)
    }
}
