// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What an outside issuer's tokens stand for.
package enum IssuerKind: String, Sendable, CaseIterable {
    case person, app, session

    /// The word that routes list.
    package var credential: CredentialKind {
        switch self {
        case .person: .person
        case .app: .appToken
        case .session: .sessionToken
        }
    }
}

/// An outside issuer with its rules (RFC 8725): exact `iss`, an audience, an algorithm list, its own keys only.
package final class OutsideIssuer: Sendable {
    package let name: String
    package let issuer: String
    package let audiences: [String]
    package let algorithms: [TokenAlgorithm]
    package let organizations: [OrganizationID]
    package let kind: IssuerKind
    package let personClaim: String
    package let appClaim: String?
    /// The claim that says what the sign-in's proof was worth; sessions need it and `appClaim` (OFF-076, OFF-078).
    package let trustClaim: String?

    package init(
        name: String,
        issuer: String,
        audiences: [String],
        algorithms: [TokenAlgorithm],
        organizations: [OrganizationID],
        kind: IssuerKind,
        personClaim: String,
        appClaim: String?,
        trustClaim: String? = nil
    ) {
        self.name = name
        self.issuer = issuer
        self.audiences = audiences
        self.algorithms = algorithms
        self.organizations = organizations
        self.kind = kind
        self.personClaim = personClaim
        self.appClaim = appClaim
        self.trustClaim = trustClaim
    }

    /// A token that lives longer was meant for something else: 30 days.
    private static let longestLife: Int64 = 30 * 86_400_000
    /// The types an outside token may have; ours have another, so none of ours passes here.
    private static let types = ["jwt", "at+jwt", "application/at+jwt", "application/jwt"]

    /// Whether it has the same rules as `other`: what was verified for one holds for the other.
    package func isEqual(to other: OutsideIssuer) -> Bool {
        name == other.name && issuer == other.issuer && audiences == other.audiences
            && algorithms == other.algorithms && organizations == other.organizations && kind == other.kind
            && personClaim == other.personClaim && appClaim == other.appClaim && trustClaim == other.trustClaim
    }

    /// Whether tokens of it may be used with apps of this organization.
    package func serves(_ organization: OrganizationID) -> Bool { organizations.contains(organization) }

    /// The facts of a token, if everything about it holds at `now`; `keys` are this issuer's and nobody else's.
    package func verify(
        _ token: JOSEToken,
        keys: VerificationKeySet,
        now: Int64,
        leeway: Int64 = TokenTimes.leeway
    ) throws(TokenFault) -> TokenFacts {
        guard algorithms.contains(token.algorithm) else { throw .wrongAlgorithm }
        if let type = token.type, !Self.types.contains(type.lowercased()) { throw .wrongType }
        let claims = TokenClaims(object: token.payload)
        guard try claims.text("iss") == issuer else { throw .wrongIssuer }
        try keys.check(token)
        let audience = try claims.audiences()
        guard audience.contains(where: audiences.contains) else { throw .wrongAudience }
        let times = try TokenTimes(claims, now: now, leeway: leeway, ahead: leeway, longest: Self.longestLife)
        let person = try claims.optionalText(personClaim)
        if kind != .app, person == nil { throw .badClaims }
        return TokenFacts(
            kind: kind.credential,
            source: .outside(self, try app(claims)),
            trust: try trust(claims),
            person: person,
            issuedAt: times.issuedAt,
            // The leeway is spent here once: whoever keeps the facts compares with this alone.
            expiresAt: times.expiresAt + leeway,
            tokenID: try claims.optionalText("jti"),
            keyID: token.keyID
        )
    }

    private func app(_ claims: TokenClaims) throws(TokenFault) -> AppID? {
        guard let appClaim else { return nil }
        guard let text = try claims.optionalText(appClaim) else {
            // A session that names no app could be taken from one app to another.
            if kind != .person { throw .badClaims }
            return nil
        }
        guard AppID.isWellFormed(text.utf8.span) else { throw .badClaims }
        return AppID(rawValue: text)
    }

    private func trust(_ claims: TokenClaims) throws(TokenFault) -> Trust? {
        guard kind == .session, let trustClaim, let text = try claims.optionalText(trustClaim) else { return nil }
        guard let trust = Trust(rawValue: text) else { throw .badClaims }
        return trust
    }
}
