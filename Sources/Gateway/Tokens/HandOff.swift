// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Crypto
import Encodings
import Store
import Transport

/// Makes `Sallyport-Identity`: what was judged, signed for one upstream, for upstreams that believe no bare field.
///
/// Isolated to the Reactor, one for each worker. A token is kept for its credential and route and sent again while half
/// of its life is left; it says nothing of one request, so that it can be.
@Reactor
final class HandOff {
    private struct Key: Hashable {
        let route: String
        let app: String
        let kind: CredentialKind
        let trust: Trust?
        let person: String?
        /// The API key's or the token's id.
        let credential: String?
    }

    private struct Entry {
        let token: [UInt8]
        /// Sent no more from here on, milliseconds since 1970.
        let until: Int64
    }

    /// Its `typ`: none of our kinds, so that it is never taken for a credential.
    nonisolated static let type = "sallyport-identity+jwt"
    /// A token is about 700 bytes.
    private static let capacity = 8_192

    private let tokens: TokenJudge
    private var entries: [Key: Entry] = [:]
    private var signedBy: String?

    init(tokens: TokenJudge) {
        self.tokens = tokens
    }

    /// The token for an admitted request of a route; nil: there is no key to sign with.
    func token(_ admission: Admission, _ token: TokenKnowledge?, _ route: Route, now: Int64) -> [UInt8]? {
        guard let signer = tokens.handOffSigner(now: now) else { return nil }
        if signedBy != signer.keyID {
            entries.removeAll(keepingCapacity: true)
            signedBy = signer.keyID
        }
        let key = Key(
            route: route.settings.name,
            app: admission.app.recordID.rawValue,
            kind: admission.kind,
            trust: admission.trust,
            person: admission.person,
            credential: admission.keyID?.rawValue ?? token?.tokenID
        )
        if let entry = entries[key], entry.until > now { return entry.token }
        let life = tokens.settings.handOff.milliseconds
        do throws(CryptoError) {
            let claims = claims(admission, route, issuedAt: now, expiresAt: now + life)
            let signed = Array(try signer.sign(claims, type: Self.type).utf8)
            if entries.count >= Self.capacity { makeRoom(now) }
            entries[key] = Entry(token: signed, until: now + life / 2)
            return signed
        } catch {
            return nil
        }
    }

    /// Forgets all tokens: a route may have another upstream, and we another name, from now on.
    func configurationChanged() {
        entries.removeAll(keepingCapacity: true)
    }

    private func makeRoom(_ now: Int64) {
        entries = entries.filter { $0.value.until > now }
        if entries.count >= Self.capacity { entries.removeAll(keepingCapacity: true) }
    }

    private func claims(_ admission: Admission, _ route: Route, issuedAt: Int64, expiresAt: Int64) -> [UInt8] {
        let app = admission.app
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.member("iss", tokens.settings.issuer)
        json.member("aud", route.pool.settings.name)
        json.member("sub", admission.person ?? app.appID.rawValue)
        json.member("org", app.organization.rawValue)
        json.member("app", app.recordID.rawValue)
        json.member("app_id", app.appID.rawValue)
        json.member("dialect", route.settings.dialect.rawValue)
        json.member("route", route.settings.name)
        json.member("credential", admission.kind.rawValue)
        if let key = admission.keyID { json.member("key", key.rawValue) }
        if let trust = admission.trust { json.member("trust", trust.rawValue) }
        if let person = admission.person { json.member("person", person) }
        json.member("iat", Int(issuedAt / 1_000))
        json.member("exp", Int(expiresAt / 1_000))
        json.endObject()
        return json.bytes
    }
}

extension TokenKnowledge {
    /// The id of a verified token.
    var tokenID: String? {
        if case .good(let token) = self { token.facts.tokenID } else { nil }
    }
}

extension RequestPipeline {
    /// Signs what was judged, where the route hands it on.
    ///
    /// An upstream that relies on the signature must not be reached without it.
    func handOff(_ exchange: Exchange) -> Step {
        guard let route = exchange.facts.route, route.settings.forward.signsIdentity,
            let admission = exchange.facts.admission
        else { return .proceed }
        let now = worker.state.clock.now
        guard let token = worker.handOff.token(admission, exchange.facts.token, route, now: now) else {
            return refuse(exchange, .stateAway, logged: "no_signing_key")
        }
        exchange.facts.identity = token
        return .proceed
    }
}
