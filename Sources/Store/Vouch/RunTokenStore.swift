// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
package import Transport

/// What a run token is bound to and worth (VCH-020).
package struct RunTokenRecord: Sendable, Equatable {
    package var device: String
    package var version: String
    package var platform: String
    /// `pass` or `degraded`.
    package var verdict: String
    package var trust: Trust
    package var isDebug: Bool
    /// Whether a live key asked for it.
    package var isLive: Bool
    package var organization: OrganizationID
    package var appID: AppID
    /// Milliseconds since 1970 by the store's clock; zero before it is kept.
    package var issuedAt: Int64 = 0
    package var expiresAt: Int64 = 0

    package init(
        device: String,
        version: String,
        platform: String,
        verdict: String,
        trust: Trust,
        isDebug: Bool,
        isLive: Bool,
        organization: OrganizationID,
        appID: AppID
    ) {
        self.device = device
        self.version = version
        self.platform = platform
        self.verdict = verdict
        self.trust = trust
        self.isDebug = isDebug
        self.isLive = isLive
        self.organization = organization
        self.appID = appID
    }

    static let names = [
        "device", "version", "platform", "verdict", "trust", "debug", "live", "organization", "app", "issued",
        "expires",
    ]

    /// The fields without the times, which the store sets.
    var fields: [String] {
        let values = [
            device, version, platform, verdict, trust.rawValue, isDebug ? "1" : "0", isLive ? "1" : "0",
            organization.rawValue, appID.rawValue,
        ]
        return zip(Self.names, values).flatMap { [$0, $1] }
    }

    /// A record of Redis; nil if it is not what was written.
    init?(_ values: [String?]) {
        let known = values.compactMap { $0 }
        guard known.count == Self.names.count, let trust = Trust(rawValue: known[4]), let issued = Int64(known[9]),
            let expires = Int64(known[10])
        else { return nil }
        self.init(
            device: known[0],
            version: known[1],
            platform: known[2],
            verdict: known[3],
            trust: trust,
            isDebug: known[5] == "1",
            isLive: known[6] == "1",
            organization: OrganizationID(rawValue: known[7]),
            appID: AppID(rawValue: known[8])
        )
        issuedAt = issued
        expiresAt = expires
    }
}

/// Run tokens by their keyed hashes: what the store holds opens nothing (VCH-019).
///
/// Isolated to the Reactor.
@Reactor
package final class RunTokenStore {
    private let connection: RedisConnection

    /// A device with more living tokens than this asks in error.
    private static let mostOfDevice = 32

    /// A store on `connection`.
    package init(connection: RedisConnection) {
        self.connection = connection
    }

    /// Keeps a token by its hash for `seconds`; the record with its times.
    package func keep(
        _ record: RunTokenRecord,
        hash: String,
        of app: RecordID,
        seconds: Int64
    ) async throws(StoreError) -> RunTokenRecord {
        let place = VouchPlace(app: app, isLive: record.isLive)
        let reply = try await connection.evaluate(
            RunTokenScripts.mint,
            keys: [.text(VouchPlace.token(hash, app)), .text(place.tokens(of: record.device))],
            arguments: [.text(hash), .number(Int(seconds * 1_000)), .number(Self.mostOfDevice)]
                + record.fields.map { .text($0) }
        )
        guard let times = reply.elements?.compactMap(\.integer), times.count == 2 else {
            throw .malformed("the answer to a run token")
        }
        var kept = record
        kept.issuedAt = times[0]
        kept.expiresAt = times[1]
        return kept
    }

    /// The record of the first of `hashes` that is kept; nil: unknown, expired or revoked.
    package func record(_ hashes: [String], of app: RecordID) async throws(StoreError) -> RunTokenRecord? {
        for hash in hashes {
            let reply = try await connection.call(
                ["HMGET", .text(VouchPlace.token(hash, app))] + RunTokenRecord.names.map { .text($0) }
            )
            guard let values = reply.elements else { throw .malformed("a run token") }
            if let record = RunTokenRecord(values.map(\.text)) { return record }
        }
        return nil
    }

    /// Ends every token of a device and forgets its verdict: how many were alive and when; nil for a stranger.
    package func revoke(
        device: String,
        isLive: Bool,
        of app: RecordID
    ) async throws(StoreError) -> (count: Int, at: Int64)? {
        let place = VouchPlace(app: app, isLive: isLive)
        let reply = try await connection.evaluate(
            RunTokenScripts.revoke,
            keys: [.text(place.devices), .text(place.tokens(of: device)), .text(place.verdict(of: device))],
            arguments: [.text(device), .text(VouchPlace.token("", app))]
        )
        guard let parts = reply.elements else { throw .malformed("the answer to a revocation") }
        if parts.isEmpty { return nil }
        guard parts.count == 2, let count = parts[0].integer, let at = parts[1].integer else {
            throw .malformed("the answer to a revocation")
        }
        return (Int(count), at)
    }
}

/// Where things of dialect vouch lie.
struct VouchPlace {
    let app: RecordID
    let isLive: Bool

    private var mode: String { isLive ? "live" : "test" }

    static func token(_ hash: String, _ app: RecordID) -> String { "{\(app.rawValue)}:rt:\(hash)" }
    func tokens(of device: String) -> String { "{\(app.rawValue)}:rtd:\(mode):\(device)" }
    func verdict(of device: String) -> String { "{\(app.rawValue)}:vc:\(mode):\(device)" }
    var devices: String { "{\(app.rawValue)}:vd:\(mode)" }
    var rows: String { "{\(app.rawValue)}:v" }

    static func counter(_ policy: VouchPolicy, _ app: RecordID) -> String {
        "{\(app.rawValue)}:vp:\(policy.when):\(policy.since)"
    }
}
