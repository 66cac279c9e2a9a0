// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
import Encodings
package import Transport

/// What an opaque session token of an upstream is bound to.
package struct BoundSession: Sendable, Equatable {
    package let app: RecordID
    package let trust: Trust
    /// Milliseconds since 1970; a renewed session keeps the time of its sign-in.
    package let issuedAt: Int64
    package let expiresAt: Int64

    package init(app: RecordID, trust: Trust, issuedAt: Int64, expiresAt: Int64) {
        self.app = app
        self.trust = trust
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    /// What judging needs of it, as of any verified token.
    package func facts(of app: App) -> TokenFacts {
        TokenFacts(
            kind: .sessionToken,
            source: .own(
                OwnSource(organization: app.organization, app: self.app, appID: app.appID, dialect: .offlineid)
            ),
            trust: trust,
            person: nil,
            issuedAt: issuedAt,
            expiresAt: expiresAt,
            tokenID: nil
        )
    }

    fileprivate var text: String { "1 \(trust.rawValue) \(issuedAt) \(expiresAt)" }

    fileprivate init?(_ text: String, app: RecordID) {
        let parts = text.split(separator: " ")
        guard parts.count == 4, parts[0] == "1", let trust = Trust(rawValue: String(parts[1])),
            let issuedAt = Int64(parts[2]), let expiresAt = Int64(parts[3])
        else { return nil }
        self.init(app: app, trust: trust, issuedAt: issuedAt, expiresAt: expiresAt)
    }
}

/// What a bound token may be used for.
package enum BoundTokenUse: Sendable {
    /// It is a session's own token.
    case session
    /// It renews a session and opens nothing else.
    case refresh

    fileprivate var purpose: SecretPurpose {
        switch self {
        case .session: .sessionToken
        case .refresh: .refreshToken
        }
    }
}

/// Opaque session tokens by their keyed hash: the gateway knows what each is worth, and never the token itself.
///
/// Isolated to the Reactor. Bound before the client sees the token; a key holds the app, so a token counts for one app
/// only.
@Reactor
package final class SessionBindings {
    private let connection: RedisConnection
    private let peppers: PepperRing
    /// Sessions that were looked up, by the first of their keys; bounded, and forgotten at once when it is full.
    private var known: [String: BoundSession] = [:]

    private static let mostKnown = 16_384

    /// The longest token that is bound.
    package nonisolated static let mostBytes = 8_192

    package init(connection: RedisConnection, peppers: PepperRing) {
        self.connection = connection
        self.peppers = peppers
    }

    /// Binds `token` until the session's expiry.
    package func bind(
        _ token: String,
        as use: BoundTokenUse = .session,
        to session: BoundSession,
        now: Int64
    ) async throws(StoreError) {
        let lifetime = session.expiresAt - now
        guard lifetime > 0 else { throw .malformed("a session that has ended") }
        let hash = peppers.hash(Array(token.utf8).span, use.purpose, createdAt: now)
        _ = try await connection.call([
            "SET", .text(Self.key(session.app, pepper: hash.pepper, hash: hash.hash)), .text(session.text), "PX",
            .number(Int(lifetime)),
        ])
    }

    /// What a session token that was looked up before is bound to; a binding never changes, it only ends.
    package func remembered(_ token: String, app: RecordID, now: Int64) -> BoundSession? {
        if known.isEmpty || token.utf8.count > Self.mostBytes { return nil }
        guard let key = keys(of: token, .session, app).first, let session = known[key] else { return nil }
        if session.expiresAt > now { return session }
        known[key] = nil
        return nil
    }

    /// What `token` is bound to for `app`; nil: nothing.
    package func session(
        _ token: String,
        as use: BoundTokenUse = .session,
        app: RecordID
    ) async throws(StoreError) -> BoundSession? {
        guard token.utf8.count <= Self.mostBytes else { return nil }
        let keys = keys(of: token, use, app)
        let reply = try await connection.call(["MGET"] + keys.map { .text($0) })
        guard let values = reply.elements else { throw .malformed("a bound session") }
        for value in values {
            guard let text = value.text else { continue }
            guard let session = BoundSession(text, app: app) else { throw .malformed("a bound session") }
            if use == .session {
                if known.count >= Self.mostKnown { known.removeAll(keepingCapacity: true) }
                known[keys[0]] = session
            }
            return session
        }
        return nil
    }

    /// The keys that may hold a token, by each pepper, newest first.
    private func keys(of token: String, _ use: BoundTokenUse, _ app: RecordID) -> [String] {
        peppers.hashes(Array(token.utf8).span, use.purpose)
            .map { Self.key(app, pepper: $0.pepper, hash: $0.hash) }
    }

    private static func key(_ app: RecordID, pepper: String, hash: String) -> String {
        "{\(app.rawValue)}:s:\(pepper):\(hash)"
    }
}
