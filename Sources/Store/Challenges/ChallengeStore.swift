// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
package import Limits
package import Transport

/// Challenges that were handed out and not yet used.
///
/// Isolated to the Reactor. A challenge belongs to one app, one dialect and one kind (live or test), and is spent by
/// any presentation (SAL-001 to 003). Behind an external Redis the keys hold the epoch: a replica that takes over may
/// not know of a take, so what was issued before it counts no longer.
@Reactor
package final class ChallengeStore {
    private let connection: RedisConnection

    /// What one network may have open for an app; an office behind one address signs in with fewer at a time.
    private static let mostOfNetwork = 1_000
    /// What an app may have open in one dialect: 8 MB of memory at most.
    private static let mostOfApp = 20_000

    package init(connection: RedisConnection) {
        self.connection = connection
    }

    /// Remembers `challenge` for `lifetime`; answers when it expires, in milliseconds since 1970.
    package func issue(
        _ challenge: String,
        app: RecordID,
        dialect: Dialect,
        isTest: Bool = false,
        network: ClientNetwork,
        lifetime: Duration
    ) async throws(StoreError) -> Int64 {
        let keys = try await keys(app, dialect, isTest)
        let (seconds, attoseconds) = lifetime.components
        let reply = try await connection.evaluate(
            ChallengeScripts.issue,
            keys: keys,
            arguments: [
                .text(challenge), .number(Int(seconds * 1000 + attoseconds / 1_000_000_000_000_000)),
                .text("\(network.isIPv4 ? "4" : "6"):\(String(network.bits, radix: 16))"),
                .number(Self.mostOfNetwork), .number(Self.mostOfApp),
            ]
        )
        guard let expiry = reply.integer else { throw .malformed("the answer to a challenge") }
        return expiry
    }

    /// Spends `challenge`: true for exactly one caller, and only before it expires.
    package func take(
        _ challenge: String,
        app: RecordID,
        dialect: Dialect,
        isTest: Bool = false
    ) async throws(StoreError) -> Bool {
        let reply = try await connection.evaluate(
            ChallengeScripts.take,
            keys: try await keys(app, dialect, isTest),
            arguments: [.text(challenge)]
        )
        return reply == .integer(1)
    }

    private func keys(
        _ app: RecordID,
        _ dialect: Dialect,
        _ isTest: Bool
    ) async throws(StoreError) -> [RedisArgument] {
        let kind = dialect.rawValue + (isTest ? "-test" : "")
        let set = "{\(app.rawValue)}:c:\(kind):\(try await connection.epoch())"
        return [.text(set), .text("\(set):from"), .text("\(set):most")]
    }
}
