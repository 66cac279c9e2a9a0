// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// May this request speak for this app: one table, read top to bottom; falling off it is a refusal.
package enum CredentialTable {
    /// Judges one request. Synchronous; allocates only when it refuses.
    package static func judge(
        _ presented: borrowing PresentedCredentials,
        access: RouteAccess,
        app: AppLookup,
        dialect: Dialect,
        peppers: PepperRing,
        token: TokenEvidence = .unchecked,
        now: Int64
    ) -> Judgement {
        .refused(Refusal(.invalidApp))
    }
}

/// What verifying the bearer token showed.
package enum TokenEvidence: Sendable {
    case unchecked
    /// Not a token that this gateway can verify: as if none was sent, except for the reason in the refusal.
    case invalid(TokenFault)
    case verified(TokenFacts)
}

/// Why a token is no good.
package enum TokenFault: Sendable, Equatable {
    case malformed, expired, revoked
}

/// The route-independent facts of a verified token.
package struct TokenFacts: Sendable, Equatable {
    package var kind: CredentialKind
    package var organization: OrganizationID
    package var app: RecordID
    package var dialect: Dialect
    package var trust: Trust?
    package var person: String?
    /// Issued and expiring, milliseconds since 1970.
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
