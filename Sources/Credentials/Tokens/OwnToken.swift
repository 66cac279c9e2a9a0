// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// What a token of ours says.
///
/// Its `typ` names its kind, so that no kind is ever read as another (RFC 8725 3.11).
package struct OwnToken: Sendable, Equatable {
    package var kind: CredentialKind
    package var tokenID: String
    package var organization: OrganizationID
    package var app: RecordID
    package var appID: AppID
    package var dialect: Dialect
    /// `app_auth`: how the app was proved at sign-in.
    package var authentication: AppAuthentication
    /// `app_trust`; nil for what is not attested.
    package var trust: Trust?
    /// The app's name in dialect C, whose tokens carry its claims (dialects.md C.2); nil in the others.
    package var username: String?
    /// `sub`: the person, where there is one; else dialect C has the app's record there.
    package var person: String?
    /// `attest`: the facts of the proof (APP-063).
    package var attest: AttestClaim?
    /// `key`: the API key on whose strength it was made; its watermark ends the token.
    package var apiKey: APIKeyID?
    /// Milliseconds since 1970; written in whole seconds.
    package var issuedAt: Int64
    package var expiresAt: Int64

    package init(
        kind: CredentialKind,
        tokenID: String,
        organization: OrganizationID,
        app: RecordID,
        appID: AppID,
        dialect: Dialect,
        authentication: AppAuthentication,
        trust: Trust? = nil,
        username: String? = nil,
        person: String? = nil,
        attest: AttestClaim? = nil,
        apiKey: APIKeyID? = nil,
        issuedAt: Int64,
        expiresAt: Int64
    ) {
        self.kind = kind
        self.tokenID = tokenID
        self.organization = organization
        self.app = app
        self.appID = appID
        self.dialect = dialect
        self.authentication = authentication
        self.trust = trust
        self.username = username
        self.person = person
        self.attest = attest
        self.apiKey = apiKey
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    /// The audience of all of them: the gateway itself.
    package static let audience = "sallyport"

    /// The group of users that apps belong to in dialect C (APP-001).
    package static let group = "System"

    /// The header's `typ` of a kind.
    static func type(of kind: CredentialKind) -> String { "sallyport-\(kind.rawValue)+jwt" }

    /// The longest life of a kind, in milliseconds: sessions 30 days, what an app renews by itself 24 hours.
    static func longestLife(of kind: CredentialKind) -> Int64 {
        switch kind {
        case .sessionToken, .person: 30 * 86_400_000
        case .appToken, .webToken, .serverToken, .debugToken, .runToken, .origin, .apiKey: 86_400_000
        }
    }

    /// The facts that judging needs, with the key that signed it.
    func facts(signedBy keyID: String?) -> TokenFacts {
        TokenFacts(
            kind: kind,
            source: .own(
                OwnSource(
                    organization: organization,
                    app: app,
                    appID: appID,
                    dialect: dialect,
                    device: attest?.keyID,
                    apiKey: apiKey
                )
            ),
            trust: trust,
            person: person,
            issuedAt: issuedAt,
            expiresAt: expiresAt,
            tokenID: tokenID,
            keyID: keyID
        )
    }
}

/// How an app was proved when a token was made (OFF-076, OFF-078).
package enum AppAuthentication: String, Sendable, CaseIterable {
    case attestation, development, origin, secret
    case apiKey = "api_key"
    case debugToken = "debug_token"

    /// Whether a token made so may carry this trust.
    func allows(_ trust: Trust?) -> Bool {
        switch self {
        case .attestation: trust == .hardware || trust == .degraded
        case .development: trust == .development
        case .origin, .secret, .apiKey, .debugToken: trust == nil
        }
    }
}

/// The `attest` claim of an app token.
package struct AttestClaim: Sendable, Equatable {
    package var platform: String
    package var method: String
    /// The install's key, on iOS.
    package var keyID: String?

    package init(platform: String, method: String, keyID: String? = nil) {
        self.platform = platform
        self.method = method
        self.keyID = keyID
    }
}

extension OwnToken {
    /// The claims as they are signed.
    func claims(issuer: String) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.member("iss", issuer)
        json.member("aud", Self.audience)
        json.member("jti", tokenID)
        if let subject = person ?? username.map({ _ in app.rawValue }) { json.member("sub", subject) }
        json.member("kind", kind.rawValue)
        json.member("org", organization.rawValue)
        json.member("app", app.rawValue)
        json.member("app_id", appID.rawValue)
        if let username {
            json.member("orgid", organization.rawValue)
            json.member("username", username)
            json.member("group", Self.group)
        }
        json.member("dialect", dialect.rawValue)
        json.member("app_auth", authentication.rawValue)
        if let trust { json.member("app_trust", trust.rawValue) }
        if let attest {
            json.name("attest")
            json.beginObject()
            json.member("platform", attest.platform)
            json.member("method", attest.method)
            if let keyID = attest.keyID { json.member("keyId", keyID) }
            json.endObject()
        }
        if let apiKey { json.member("key", apiKey.rawValue) }
        json.member("iat", Int(issuedAt / 1_000))
        json.member("exp", Int(expiresAt / 1_000))
        json.endObject()
        return json.bytes
    }

    /// Reads verified claims; every one must be there, of its type, and agree with the others.
    init(reading claims: TokenClaims, type: String?, issuer: String, now: Int64) throws(TokenFault) {
        let kindText = try claims.text("kind")
        guard let kind = CredentialKind(rawValue: kindText) else { throw .wrongKind }
        guard type == Self.type(of: kind) else { throw .wrongType }
        guard try claims.text("iss") == issuer else { throw .wrongIssuer }
        guard try claims.audiences() == [Self.audience] else { throw .wrongAudience }
        guard let dialect = Dialect(rawValue: try claims.text("dialect")),
            let authentication = AppAuthentication(rawValue: try claims.text("app_auth"))
        else { throw .badClaims }
        let trust = try Self.trust(claims)
        guard authentication.allows(trust) else { throw .badClaims }
        // Ours has both dates, in whole seconds, and ends without leeway. Dated by the store's clock, it may be ahead
        // of a node's by what that tolerates.
        _ = try claims.date("iat")
        let times = try TokenTimes(
            claims,
            now: now,
            leeway: 0,
            ahead: TokenTimes.leeway,
            longest: Self.longestLife(of: kind)
        )
        let app = RecordID(rawValue: try claims.text("app"))
        let username = try claims.optionalText("username")
        let subject = try claims.optionalText("sub")
        self.init(
            kind: kind,
            tokenID: try claims.text("jti"),
            organization: OrganizationID(rawValue: try claims.text("org")),
            app: app,
            appID: AppID(rawValue: try claims.text("app_id")),
            dialect: dialect,
            authentication: authentication,
            trust: trust,
            username: username,
            person: username != nil && subject == app.rawValue ? nil : subject,
            attest: try Self.attest(claims),
            apiKey: try claims.optionalText("key").map(APIKeyID.init(rawValue:)),
            issuedAt: times.issuedAt,
            expiresAt: times.expiresAt
        )
    }

    private static func trust(_ claims: TokenClaims) throws(TokenFault) -> Trust? {
        guard let text = try claims.optionalText("app_trust") else { return nil }
        guard let trust = Trust(rawValue: text) else { throw .badClaims }
        return trust
    }

    private static func attest(_ claims: TokenClaims) throws(TokenFault) -> AttestClaim? {
        guard let value = claims.object["attest"] else { return nil }
        guard let object = value.object else { throw .badClaims }
        let inner = TokenClaims(object: object)
        return AttestClaim(
            platform: try inner.text("platform"),
            method: try inner.text("method"),
            keyID: try inner.optionalText("keyId")
        )
    }
}
