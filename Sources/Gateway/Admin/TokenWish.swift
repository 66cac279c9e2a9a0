// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings

/// What token an operator asks for, checked so that the gateway could have made it itself.
struct TokenWish {
    let kind: CredentialKind
    let dialect: Dialect
    let trust: Trust?
    let person: String?

    private static let kinds: [CredentialKind] = [
        .appToken, .webToken, .serverToken, .debugToken, .sessionToken, .person,
    ]

    init(_ request: AdminRequest, _ app: AppRecord) throws(AdminProblem) {
        let word = try request.optionalText("kind") ?? CredentialKind.serverToken.rawValue
        guard let kind = CredentialKind(rawValue: word), Self.kinds.contains(kind) else {
            let known = Self.kinds.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("there is no token kind \"\(word)\"; there are \(known)")
        }
        let dialectWord = try request.optionalText("dialect") ?? app.dialects.first?.rawValue ?? ""
        guard let dialect = Dialect(rawValue: dialectWord), app.dialects.contains(dialect) else {
            let known = app.dialects.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("the app does not use the dialect \"\(dialectWord)\"; it uses \(known)")
        }
        var trust: Trust?
        if let text = try request.optionalText("trust") {
            guard let known = Trust(rawValue: text) else {
                throw .badRequest("trust is hardware, degraded or development, not \"\(text)\"")
            }
            trust = known
        }
        let isAttested = kind == .appToken || kind == .sessionToken
        guard trust == nil || isAttested else { throw .badRequest("only app and session tokens carry trust") }
        guard kind != .appToken || trust != nil else { throw .badRequest("an app token needs \"trust\"") }
        self.kind = kind
        self.dialect = dialect
        self.trust = trust
        person = try request.optionalText("person")
        guard kind != .person && kind != .sessionToken || person != nil else {
            throw .badRequest("a token of this kind needs \"person\"")
        }
    }

    private var authentication: AppAuthentication {
        switch (kind, trust) {
        case (_, .development): .development
        case (_, .hardware), (_, .degraded): .attestation
        case (.webToken, nil), (.person, nil), (.sessionToken, nil): .origin
        case (.debugToken, nil): .debugToken
        case (.serverToken, nil), (.appToken, nil), (.origin, nil), (.apiKey, nil), (.runToken, nil): .secret
        }
    }

    func token(id: String, app: AppRecord, issuedAt: Int64, expiresAt: Int64) -> OwnToken {
        OwnToken(
            kind: kind,
            tokenID: id,
            organization: app.organization,
            app: app.recordID,
            appID: app.appID,
            dialect: dialect,
            authentication: authentication,
            trust: trust,
            username: dialect == .appengine ? app.username : nil,
            person: person,
            issuedAt: issuedAt,
            expiresAt: expiresAt
        )
    }

    /// What the history says; never the token.
    func details(_ token: OwnToken) -> [(name: String, value: JSONValue)] {
        var details: [(name: String, value: JSONValue)] = [
            ("token_id", .string(token.tokenID)), ("kind", .string(kind.rawValue)),
            ("dialect", .string(dialect.rawValue)),
        ]
        if let trust { details.append(("trust", .string(trust.rawValue))) }
        if let person { details.append(("person", .string(person))) }
        return details
    }
}
