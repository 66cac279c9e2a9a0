// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What verifying the bearer token showed.
package enum TokenEvidence: Sendable {
    case unchecked
    /// Not a token that this gateway can verify.
    case invalid(TokenFault)
    case verified(TokenFacts)
}

/// The route-independent facts of a verified token.
package struct TokenFacts: Sendable, Equatable {
    package var kind: CredentialKind
    package var organization: OrganizationID
    package var app: RecordID
    package var dialect: Dialect
    package var trust: Trust?
    package var person: String?
    /// Milliseconds since 1970.
    package var issuedAt: Int64
    package var expiresAt: Int64
    package var tokenID: String

    package init(
        kind: CredentialKind,
        organization: OrganizationID,
        app: RecordID,
        dialect: Dialect,
        trust: Trust?,
        person: String?,
        issuedAt: Int64,
        expiresAt: Int64,
        tokenID: String
    ) {
        self.kind = kind
        self.organization = organization
        self.app = app
        self.dialect = dialect
        self.trust = trust
        self.person = person
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.tokenID = tokenID
    }
}

/// The rows of the table that a verified token meets; judged again on every use, whatever a cache says.
enum TokenRule {
    /// nil: the token is no credential here, as if none was sent (OFF-077, OFF-078).
    static func judge(_ facts: TokenFacts, _ standing: CredentialTable.Standing) -> Judgement? {
        let app = standing.app
        guard facts.expiresAt > standing.now else { return .refused(refusal(.expired, app: app)) }
        guard facts.app == app.recordID, facts.organization == app.organization, facts.dialect == standing.dialect,
            standing.rules.credentials.contains(facts.kind)
        else { return nil }
        // OFF-078: the session of a web or API-key sign-in is no credential by itself.
        if facts.kind == .sessionToken, facts.trust == nil { return nil }
        // OFF-086, OFF-087: the mode's present state decides.
        if facts.trust == .development, !app.isInDevelopment(now: standing.now) {
            return .refused(
                Refusal(
                    .appCredentialsRequired,
                    missing: .developmentMode,
                    appID: app.appID,
                    nextSteps: NextSteps.developmentEnded
                )
            )
        }
        if let trust = facts.trust, let least = standing.rules.minimumTrust, trust < least {
            return .refused(
                Refusal(
                    .trustTooLow,
                    appID: app.appID,
                    nextSteps: ["Sign in from a registered build on a physical device."],
                    details: [("trust", trust.rawValue), ("required", least.rawValue)]
                )
            )
        }
        return .admitted(Admission(app: app, kind: facts.kind, trust: facts.trust, person: facts.person))
    }

    static func refusal(_ fault: TokenFault, app: App) -> Refusal {
        Refusal(
            .appTokenInvalid,
            // Nothing but expiry is told apart outside: why a token fails is for the log.
            reason: fault == .expired ? "expired" : nil,
            appID: app.appID,
            nextSteps: [NextSteps.signInAgain]
        )
    }
}
