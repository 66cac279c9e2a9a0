// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
package import Transport

/// One exchange as it is kept: no more of the device than its id (VCH-042).
package struct VerdictRow: Sendable, Equatable {
    package var device: String
    package var version: String
    package var platform: String
    package var verdict: String
    /// Codes of reasons and signals.
    package var reasons: [String]
    package var source: String
    package var isDebug: Bool
    package var isFromCache: Bool
    package var isLive: Bool
    /// Milliseconds since 1970 by the store's clock; zero before it is kept.
    package var at: Int64 = 0

    package init(
        device: String,
        version: String,
        platform: String,
        verdict: String,
        reasons: [String],
        source: String,
        isDebug: Bool,
        isFromCache: Bool,
        isLive: Bool
    ) {
        self.device = device
        self.version = version
        self.platform = platform
        self.verdict = verdict
        self.reasons = reasons
        self.source = source
        self.isDebug = isDebug
        self.isFromCache = isFromCache
        self.isLive = isLive
    }

    var fields: [String] {
        [
            "device", device, "version", version, "platform", platform, "verdict", verdict, "reasons",
            reasons.joined(separator: " "), "source", source, "debug", isDebug ? "1" : "0", "cached",
            isFromCache ? "1" : "0", "live", isLive ? "1" : "0",
        ]
    }

    /// A row of Redis; nil if it is not what was written.
    init?(id: String, _ pairs: [String: String]) {
        guard let device = pairs["device"], let version = pairs["version"], let platform = pairs["platform"],
            let verdict = pairs["verdict"], let reasons = pairs["reasons"], let source = pairs["source"],
            let at = id.split(separator: "-").first.flatMap({ Int64($0) })
        else { return nil }
        self.init(
            device: device,
            version: version,
            platform: platform,
            verdict: verdict,
            reasons: reasons.split(separator: " ").map(String.init),
            source: source,
            isDebug: pairs["debug"] == "1",
            isFromCache: pairs["cached"] == "1",
            isLive: pairs["live"] == "1"
        )
        self.at = at
    }
}

/// A verdict that may be given again to whoever brings the same proof (VCH-043, VCH-046).
package struct RememberedVerdict: Sendable, Equatable {
    package var version: String
    package var platform: String
    package var verdict: String
    package var reasons: [String]
    package var source: String
    package var trust: Trust
    /// The App Attest key, or the hash of the token, that it was given for.
    package var proof: String

    package init(
        version: String,
        platform: String,
        verdict: String,
        reasons: [String],
        source: String,
        trust: Trust,
        proof: String
    ) {
        self.version = version
        self.platform = platform
        self.verdict = verdict
        self.reasons = reasons
        self.source = source
        self.trust = trust
        self.proof = proof
    }

    static let names = ["version", "platform", "verdict", "reasons", "source", "trust", "proof"]

    var fields: [String] {
        let values = [
            version, platform, verdict, reasons.joined(separator: " "), source, trust.rawValue, proof,
        ]
        return zip(Self.names, values).flatMap { [$0, $1] }
    }

    init?(_ values: [String?]) {
        let known = values.compactMap { $0 }
        guard known.count == Self.names.count, let trust = Trust(rawValue: known[5]) else { return nil }
        self.init(
            version: known[0],
            platform: known[1],
            verdict: known[2],
            reasons: known[3].split(separator: " ").map(String.init),
            source: known[4],
            trust: trust,
            proof: known[6]
        )
    }
}

/// The verdicts of dialect vouch: the latest exchanges, the devices, what rules would do, and what is remembered.
///
/// Isolated to the Reactor.
@Reactor
package final class VerdictStore {
    private let connection: RedisConnection

    /// Rows and devices kept of an app: enough to look into a complaint, bounded because devices name themselves.
    private static let mostRows = 2_000
    private static let mostDevices = 50_000
    /// What a rule counted is kept for 90 days after the last device.
    private static let counterLife = 90 * 86_400_000

    /// A store on `connection`.
    package init(connection: RedisConnection) {
        self.connection = connection
    }

    /// Records an exchange; `met` are the rules whose devices are counted, `kept` is remembered for so many seconds.
    package func record(
        _ row: VerdictRow,
        of app: RecordID,
        met: [VouchPolicy],
        kept: RememberedVerdict?,
        seconds: Int64
    ) async throws(StoreError) {
        let place = VouchPlace(app: app, isLive: row.isLive)
        var keys: [RedisArgument] = [.text(place.rows), .text(place.devices), .text(place.verdict(of: row.device))]
        keys += met.map { .text(VouchPlace.counter($0, app)) }
        var arguments: [RedisArgument] = [
            .text(row.device), .number(Self.mostRows), .number(Self.mostDevices), .number(Self.counterLife),
            .number(kept == nil ? 0 : Int(seconds * 1_000)), .number(row.fields.count),
        ]
        arguments += (row.fields + (kept?.fields ?? [])).map { .text($0) }
        _ = try await connection.evaluate(RunTokenScripts.record, keys: keys, arguments: arguments)
    }

    /// What is remembered of a device.
    package func remembered(
        device: String,
        isLive: Bool,
        of app: RecordID
    ) async throws(StoreError) -> RememberedVerdict? {
        let place = VouchPlace(app: app, isLive: isLive)
        let reply = try await connection.call(
            ["HMGET", .text(place.verdict(of: device))] + RememberedVerdict.names.map { .text($0) }
        )
        guard let values = reply.elements else { throw .malformed("a verdict") }
        return RememberedVerdict(values.map(\.text))
    }

    /// The latest exchanges, newest first.
    package func rows(of app: RecordID, limit: Int) async throws(StoreError) -> [VerdictRow] {
        let place = VouchPlace(app: app, isLive: true)
        let reply = try await connection.call(["XREVRANGE", .text(place.rows), "+", "-", "COUNT", .number(limit)])
        var rows: [VerdictRow] = []
        for entry in reply.elements ?? [] {
            guard let parts = entry.elements, parts.count == 2, let id = parts[0].text,
                let texts = parts[1].elements?.map({ $0.text ?? "" }), texts.count % 2 == 0
            else { throw .malformed("a verdict") }
            var pairs: [String: String] = [:]
            for index in stride(from: 0, to: texts.count, by: 2) { pairs[texts[index]] = texts[index + 1] }
            if let row = VerdictRow(id: id, pairs) { rows.append(row) }
        }
        return rows
    }

    /// The devices seen last by keys of one kind, newest first, with when.
    package func devices(
        of app: RecordID,
        isLive: Bool,
        limit: Int
    ) async throws(StoreError) -> [(id: String, seenAt: Int64)] {
        let place = VouchPlace(app: app, isLive: isLive)
        let reply = try await connection.call([
            "ZREVRANGE", .text(place.devices), 0, .number(max(0, limit - 1)), "WITHSCORES",
        ])
        guard let texts = reply.elements?.map({ $0.text ?? "" }), texts.count % 2 == 0 else {
            throw .malformed("the devices")
        }
        return stride(from: 0, to: texts.count, by: 2).map { (texts[$0], Int64(texts[$0 + 1]) ?? 0) }
    }

    /// How many distinct devices a rule has met since it was set; about 1 % off beyond a few thousand.
    package func devices(metBy policy: VouchPolicy, of app: RecordID) async throws(StoreError) -> Int {
        let reply = try await connection.call(["PFCOUNT", .text(VouchPlace.counter(policy, app))])
        return Int(reply.integer ?? 0)
    }
}

extension RegistryStore {
    /// The run tokens of the same Redis.
    package var runTokens: RunTokenStore { RunTokenStore(connection: connection) }
    /// The verdicts of the same Redis.
    package var verdicts: VerdictStore { VerdictStore(connection: connection) }
}
