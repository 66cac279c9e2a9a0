// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation
package import Credentials
import Encodings
package import Transport

/// The App Attest keys that installs registered, each for one app in one dialect.
///
/// Isolated to the Reactor. A key of one app or dialect is unknown to every other.
@Reactor
package final class DeviceKeyStore {
    private let connection: RedisConnection

    /// A store on `connection`.
    package init(connection: RedisConnection) {
        self.connection = connection
    }

    /// What became of a counter that an assertion brought.
    package enum Advance: Sendable {
        /// It was above the last one and is the last one now.
        case taken
        /// It was not above the last one.
        case notIncreasing
        /// No such key.
        case unknown
        /// Its install is blocked.
        case blocked
    }

    /// Keeps an attested key; false where its install is blocked.
    package func register(
        _ key: AttestedAppleKey,
        of app: RecordID,
        in dialect: Dialect,
        at now: Moment
    ) async throws(StoreError) -> Bool {
        let name = Hex.encode(key.keyID)
        let reply = try await connection.evaluate(
            DeviceKeyScripts.register,
            keys: [.text(Self.place(name, app, dialect)), .text(Self.list(app, dialect))],
            arguments: [
                .text(name), .text(Hex.encode(key.point)), .text(key.environment.rawValue), .text(key.app.teamID),
                .text(key.app.bundleID), .text(key.provenance.rawValue), .number(Int(now.milliseconds)),
            ]
        )
        guard let outcome = reply.integer else { throw .malformed("the answer to a device key") }
        return outcome == 1
    }

    /// The key of this id, or nil.
    package func key(
        _ id: [UInt8],
        of app: RecordID,
        in dialect: Dialect
    ) async throws(StoreError) -> RegisteredAppleKey? {
        try await row(Hex.encode(id), app, dialect)?.key
    }

    /// Compares and sets the counter of a key in one step: of two assertions with one counter, one is taken.
    package func advance(
        _ id: [UInt8],
        of app: RecordID,
        in dialect: Dialect,
        to counter: UInt32,
        at now: Moment
    ) async throws(StoreError) -> Advance {
        let reply = try await connection.evaluate(
            DeviceKeyScripts.advance,
            keys: [.text(Self.place(Hex.encode(id), app, dialect))],
            arguments: [.number(Int(counter)), .number(Int(now.milliseconds))]
        )
        switch reply.integer {
        case 1: return .taken
        case 0: return .notIncreasing
        case -1: return .unknown
        case -2: return .blocked
        default: throw .malformed("the answer to a counter")
        }
    }

    /// Blocks an install or lets it in again; nil where there is no such key, false where it was so already.
    package func setBlocked(
        _ isBlocked: Bool,
        _ id: [UInt8],
        of app: RecordID,
        in dialect: Dialect
    ) async throws(StoreError) -> Bool? {
        let reply = try await connection.evaluate(
            DeviceKeyScripts.block,
            keys: [.text(Self.place(Hex.encode(id), app, dialect))],
            arguments: [.number(isBlocked ? 1 : 0)]
        )
        switch reply.integer {
        case 1: return true
        case 0: return false
        case -1: return nil
        default: throw .malformed("the answer to a block")
        }
    }

    /// The newest installs, at most `limit`.
    package func newest(
        _ limit: Int,
        of app: RecordID,
        in dialect: Dialect
    ) async throws(StoreError) -> [DeviceKeyRow] {
        let reply = try await connection.call([
            "ZREVRANGE", .text(Self.list(app, dialect)), 0, .number(max(0, limit - 1)),
        ])
        guard let names = reply.elements?.compactMap(\.text) else { throw .malformed("a list of device keys") }
        var rows: [DeviceKeyRow] = []
        for name in names {
            if let row = try await row(name, app, dialect) { rows.append(row) }
        }
        return rows
    }

    private func row(_ name: String, _ app: RecordID, _ dialect: Dialect) async throws(StoreError) -> DeviceKeyRow? {
        let reply = try await connection.call(
            ["HMGET", .text(Self.place(name, app, dialect))] + DeviceKeyRow.fields.map { .text($0) }
        )
        guard let values = reply.elements, values.count == DeviceKeyRow.fields.count else {
            throw .malformed("a device key")
        }
        if values[0] == .null { return nil }
        guard let row = DeviceKeyRow(name: name, values: values.map { $0.text ?? "" }) else {
            throw .malformed("a device key")
        }
        return row
    }

    private static func list(_ app: RecordID, _ dialect: Dialect) -> String {
        "{\(app.rawValue)}:k:\(dialect.rawValue)"
    }

    private static func place(_ name: String, _ app: RecordID, _ dialect: Dialect) -> String {
        "\(list(app, dialect)):\(name)"
    }
}

/// One registered install, for those who look after it.
package struct DeviceKeyRow: Sendable, Equatable {
    /// What proofs are judged by.
    package let key: RegisteredAppleKey
    /// When it was attested first, in milliseconds since 1970.
    package let registeredAt: Int64
    /// When it signed in last.
    package let seenAt: Int64

    static let fields = [
        "point", "environment", "team", "bundle", "provenance", "counter", "blocked", "registered", "seen",
    ]

    /// A row of Redis; nil if it is not what was written.
    init?(name: String, values: [String]) {
        guard let environment = AppAttestEnvironment(rawValue: values[1]),
            let provenance = Provenance(rawValue: values[4]), let counter = UInt32(values[5]),
            let registered = Int64(values[7]), let seen = Int64(values[8])
        else { return nil }
        do {
            key = RegisteredAppleKey(
                keyID: try Hex.decode(name),
                point: try Hex.decode(values[0]),
                environment: environment,
                app: AppleApp(teamID: values[2], bundleID: values[3]),
                provenance: provenance,
                counter: counter,
                isBlocked: values[6] == "1"
            )
        } catch {
            return nil
        }
        registeredAt = registered
        seenAt = seen
    }
}
