// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Crypto
import Encodings
import Store

extension AdminRoutes {
    static let tokenRoutes: [Route] = [
        Route("POST", "apps/*/tokens") { routes, request async throws(AdminProblem) in
            try await routes.mintToken(request)
        },
        Route("POST", "tokens/inspect") { routes, request async throws(AdminProblem) in
            try await routes.inspectToken(request)
        },
    ]

    /// Longer than any try-out, shorter than a working day.
    private static let longestMinutes = 60

    /// Makes a token of ours for an app, for trying out and for tests; always told in the app's history.
    private func mintToken(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let record = try await app(request.path[1])
        let wish = try TokenWish(request, record)
        let minutes = request.body["minutes"].flatMap { $0 == .null ? nil : $0.integer ?? 0 } ?? 15
        guard (1...Self.longestMinutes).contains(minutes) else {
            throw .badRequest("minutes is 1 to \(Self.longestMinutes)")
        }
        guard record.isEnabled, !record.isRevoked else {
            throw .conflict("app_closed", "tokens of an app that is disabled or revoked are refused")
        }
        let settings = configuration().tokens
        let moment = now()
        // As it is written into the token: whole seconds.
        let issued = clock.stamp / 1_000 * 1_000
        guard
            let signer = keyring.own?.signer(issuer: settings.issuer, algorithm: settings.algorithm.token, now: moment)
                ?? keyring.own?.signer(issuer: settings.issuer, now: moment)
        else {
            throw .conflict("keys_unusable", keyring.problem ?? "there is no signing key yet: Redis was not reached")
        }
        let token = wish.token(
            id: NewNames.tokenID(),
            app: record,
            issuedAt: issued,
            expiresAt: issued + Int64(minutes) * 60_000
        )
        let text: String
        do {
            text = try signer.sign(token)
        } catch {
            throw .conflict("keys_unusable", "the token could not be signed")
        }
        let event = HistoryEvent("token_minted", wish.details(token) + [("until", .string(self.text(token.expiresAt)))])
        // Told before it is given out: a token that nobody can find in the history must not exist.
        try await registryCall { () async throws(RegistryError) in
            try await registry.note([event], of: record.recordID, by: request.by)
        }
        let members: [(String, JSONValue)] = [
            ("message", .string("a token for \(record.appID.rawValue) until \(self.text(token.expiresAt))")),
            ("token", .string(text)), ("token_id", .string(token.tokenID)), ("kind", .string(token.kind.rawValue)),
            ("dialect", .string(token.dialect.rawValue)), ("expires_at", .string(self.text(token.expiresAt))),
            ("key_id", .string(signer.keyID)),
        ]
        return AdminAnswer(.object(members), status: 201)
    }

    private func inspectToken(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let text = try request.text("token")
        let inspection = TokenInspection(text)
        let settings = configuration()
        let authority = TokenAuthority(
            own: keyring.own.map { ring in
                OwnTokenVerifier(
                    issuer: settings.tokens.issuer,
                    keys: VerificationKeySet(ring.verificationKeys(now: now()))
                )
            },
            issuers: settings.issuers.map { ($0.outside, issuers.keys(of: $0)) },
            leeway: settings.tokens.leeway.milliseconds
        )
        var members = inspection.members
        switch inspection.judge(with: authority, now: now()) {
        case .failure(let fault):
            members += [("verdict", .string("refused")), ("reason", .string(fault.rawValue))]
            members.append(("message", .string(fault.sentence)))
        case .success(let facts):
            let doubt = try await doubt(about: facts)
            members += [
                ("verdict", .string(doubt == nil ? "good" : "refused")),
                ("reason", .optional(doubt?.code)), ("kind", .string(facts.kind.rawValue)),
                ("issuer", .string(facts.issuerName)), ("trust", .optional(facts.trust?.rawValue)),
                ("person", .optional(facts.person)), ("token_id", .optional(facts.tokenID)),
                ("issued_at", .optional(facts.issuedAt == 0 ? nil : self.text(facts.issuedAt))),
                ("expires_at", .string(self.text(facts.expiresAt))),
                ("message", .string(doubt?.sentence ?? "the token is good where its kind, app and dialect are taken")),
            ]
        }
        return AdminAnswer(.object(members))
    }

    /// What stands against a token whose signature and claims are right.
    private func doubt(about facts: TokenFacts) async throws(AdminProblem) -> (code: String, sentence: String)? {
        var subjects: [RevocationSubject] = []
        if let named = facts.namedApp {
            let found = try await registryCall { () async throws(RegistryError) in
                try await registry.app(named.reference)
            }
            guard let found else { return ("invalid_app", "its app is not registered") }
            if !found.isEnabled { return ("invalid_app", "its app is disabled") }
            if found.isRevoked { return ("app_revoked", "its app is revoked") }
            if facts.trust == .development, found.isProduction || (found.developmentUntil ?? 0) <= now() {
                return ("development_mode", "it is of development mode, which is off for its app")
            }
            subjects.append(.app(found.recordID))
            if let person = facts.person { subjects.append(.person(found.organization, person)) }
        }
        if case .own(let own) = facts.source {
            if let device = own.device { subjects.append(.device(own.app, device)) }
            if let key = own.apiKey { subjects.append(.key(key)) }
        }
        let isRevoked = try await registryCall { () async throws(RegistryError) in
            try await registry.isRevoked(facts.tokenID, subjects, issuedAt: facts.issuedAt)
        }
        return isRevoked
            ? ("revoked", "it is revoked, by its id or by a time before which tokens count no longer") : nil
    }
}

extension TokenApp {
    /// The app in the registry.
    fileprivate var reference: RegistryStore.AppReference {
        switch self {
        case .record(let id): .record(id)
        case .appID(let id): .appID(id)
        }
    }
}

extension TokenFacts {
    fileprivate var issuerName: String {
        switch source {
        case .own: "sallyport"
        case .outside(let issuer, _): issuer.name
        }
    }
}

extension TokenFault {
    /// The fault for people who may know it.
    var sentence: String {
        switch self {
        case .malformed: "it is not three segments of base64url with strict JSON inside"
        case .tooLong: "it is longer than tokens may be"
        case .forbiddenHeader: "its header has a member that names a key or changes how it is read"
        case .wrongType: "its typ is not one of those taken from its issuer"
        case .wrongAlgorithm: "its alg is not one of those taken from its issuer"
        case .unknownKey: "its kid names no key that is held of its issuer"
        case .badSignature: "its signature does not verify"
        case .wrongIssuer: "its iss is no issuer that this gateway knows"
        case .wrongAudience: "its aud is not one of those taken from its issuer"
        case .wrongKind: "its kind is not taken in this place"
        case .badClaims: "a claim is missing or of the wrong type"
        case .expired: "it has expired"
        case .notYetValid: "it is not valid yet"
        case .tooLongLived: "it lives longer than tokens of its kind may"
        case .revoked: "it is revoked"
        }
    }
}
