// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The route-independent facts of a verified token: what a cache may hold.
///
/// An object, so that judging a token that was seen before copies one reference and not all it says.
package final class TokenFacts: Sendable {
    package let kind: CredentialKind
    package let source: TokenSource
    /// Known for attested tokens only.
    package let trust: Trust?
    package let person: String?
    /// Milliseconds since 1970; 0: its issuer did not say.
    package let issuedAt: Int64
    package let expiresAt: Int64
    /// Always there for ours; some issuers give none.
    package let tokenID: String?
    /// The key that signed it, safe to log once the token is verified.
    package let keyID: String?

    package init(
        kind: CredentialKind,
        source: TokenSource,
        trust: Trust?,
        person: String?,
        issuedAt: Int64,
        expiresAt: Int64,
        tokenID: String?,
        keyID: String? = nil
    ) {
        self.kind = kind
        self.source = source
        self.trust = trust
        self.person = person
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.tokenID = tokenID
        self.keyID = keyID
    }

    /// How the token names its app, for requests that name it in no other way.
    package var namedApp: TokenApp? {
        switch source {
        case .own(let own): .record(own.app)
        case .outside(_, let appID): appID.map(TokenApp.appID)
        }
    }
}

/// Who made a token, and what for.
package enum TokenSource: Sendable {
    case own(OwnSource)
    /// An outside issuer, and the App ID its token names, if any.
    case outside(OutsideIssuer, AppID?)
}

/// What a token of ours was made for.
package struct OwnSource: Sendable, Equatable {
    package var organization: OrganizationID
    package var app: RecordID
    package var appID: AppID
    package var dialect: Dialect
    /// The install's key, where the token was made for one.
    package var device: String?
    /// The API key on whose strength the token was made.
    package var apiKey: APIKeyID?

    package init(
        organization: OrganizationID,
        app: RecordID,
        appID: AppID,
        dialect: Dialect,
        device: String? = nil,
        apiKey: APIKeyID? = nil
    ) {
        self.organization = organization
        self.app = app
        self.appID = appID
        self.dialect = dialect
        self.device = device
        self.apiKey = apiKey
    }
}

/// An app as a token names it.
package enum TokenApp: Sendable, Equatable {
    case record(RecordID)
    case appID(AppID)
}
