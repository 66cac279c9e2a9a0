// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
package import Limits
package import Transport

/// One cap that a sign-in falls under: at most `limit` in any hour.
package struct CapRule: Sendable, Equatable {
    /// Part of the key: letters, digits and `-`.
    package let name: String
    package let limit: Int
    /// nil: counted for the app as a whole.
    package let network: ClientNetwork?

    package init(name: String, limit: Int, network: ClientNetwork? = nil) {
        self.name = name
        self.limit = limit
        self.network = network
    }
}

/// What came of a reservation.
package enum CapOutcome: Sendable, Equatable {
    case reserved
    /// The index of the first cap without room, and the seconds until it has some.
    case full(cap: Int, retryAfter: Int)
}

/// Caps on completed sign-ins: reserved before the upstream is asked, given back when it says no (OFF-113, SAL-011).
///
/// Isolated to the Reactor. A reservation whose end nobody reports stays spent: a crash never lets one more through.
@Reactor
package final class SignInCaps {
    private let connection: RedisConnection

    /// The hour that caps look back over.
    package static let window = Duration.seconds(3_600)

    package init(connection: RedisConnection) {
        self.connection = connection
    }

    /// Reserves one place under every cap, or under none.
    package func reserve(
        _ reservation: String,
        under caps: [CapRule],
        app: RecordID
    ) async throws(StoreError) -> CapOutcome {
        let milliseconds = Int(Self.window.components.seconds * 1_000)
        let reply = try await connection.evaluate(
            CapScripts.reserve,
            keys: caps.map { key(of: $0, app) },
            arguments: [.text(reservation), .number(milliseconds)] + caps.map { .number($0.limit) }
        )
        guard let numbers = reply.elements?.map(\.integer), let first = numbers.first, let full = first else {
            throw .malformed("the answer to a reservation")
        }
        if full == 0 { return .reserved }
        guard numbers.count == 2, let wait = numbers[1], caps.indices.contains(Int(full) - 1) else {
            throw .malformed("the answer to a reservation")
        }
        return .full(cap: Int(full) - 1, retryAfter: max(1, Int((wait + 999) / 1_000)))
    }

    /// Gives a reservation back.
    package func cancel(_ reservation: String, under caps: [CapRule], app: RecordID) async throws(StoreError) {
        _ = try await connection.evaluate(
            CapScripts.cancel,
            keys: caps.map { key(of: $0, app) },
            arguments: [.text(reservation)]
        )
    }

    private func key(of cap: CapRule, _ app: RecordID) -> RedisArgument {
        guard let network = cap.network else { return .text("{\(app.rawValue)}:cap:\(cap.name)") }
        return .text(
            "{\(app.rawValue)}:cap:\(cap.name):\(network.isIPv4 ? "4" : "6"):\(String(network.bits, radix: 16))"
        )
    }
}
