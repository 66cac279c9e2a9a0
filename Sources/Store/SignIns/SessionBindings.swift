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

/// Opaque session tokens by their keyed hash: the gateway knows what each is worth, and never the token itself.
///
/// Isolated to the Reactor. Bound before the client sees the token; a key holds the app, so a token counts for one app
/// only.
@Reactor
package final class SessionBindings {
    private let connection: RedisConnection
    private let peppers: PepperRing

    /// The longest token that is bound.
    package static let mostBytes = 8_192

    package init(connection: RedisConnection, peppers: PepperRing) {
        self.connection = connection
        self.peppers = peppers
    }

    /// Binds `token` until the session's expiry.
    package func bind(_ token: String, to session: BoundSession, now: Int64) async throws(StoreError) {
        let lifetime = session.expiresAt - now
        guard lifetime > 0 else { return }
        let hash = peppers.hash(Array(token.utf8).span, .sessionToken, createdAt: now)
        _ = try await connection.call([
            "SET", .text(Self.key(session.app, pepper: hash.pepper, hash: hash.hash)), .text(session.text), "PX",
            .number(Int(lifetime)),
        ])
    }

    /// What `token` is bound to for `app`; nil: nothing.
    package func session(_ token: String, app: RecordID) async throws(StoreError) -> BoundSession? {
        guard token.utf8.count <= Self.mostBytes else { return nil }
        let keys = peppers.hashes(Array(token.utf8).span, .sessionToken)
            .map { RedisArgument.text(Self.key(app, pepper: $0.pepper, hash: $0.hash)) }
        let reply = try await connection.call(["MGET"] + keys)
        guard let values = reply.elements else { throw .malformed("a bound session") }
        for value in values {
            guard let text = value.text else { continue }
            guard let session = BoundSession(text, app: app) else { throw .malformed("a bound session") }
            return session
        }
        return nil
    }

    private static func key(_ app: RecordID, pepper: String, hash: String) -> String {
        "{\(app.rawValue)}:s:\(pepper):\(hash)"
    }
}
