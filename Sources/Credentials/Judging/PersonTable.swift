// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// May this request carry a person, and which: the `x-client-authorization` field beside the app's credential.
package enum PersonTable {
    /// Judges the person of a request whose app was admitted; allocates only when it refuses.
    package static func judge(
        _ presented: borrowing PresentedCredentials,
        rule: PersonRule,
        app: App,
        dialect: Dialect,
        token: TokenEvidence = .unchecked,
        now: Int64
    ) -> PersonJudgement {
        // `none`: the field is nobody's business here, and no person is told to the upstream.
        guard rule != .none else { return .nobody }
        guard presented.has(.clientAuthorization) else {
            return rule == .required ? .refused(Refusal(.personTokenRequired, appID: app.appID)) : .nobody
        }
        switch token {
        case .unchecked: return .needsToken
        case .invalid, .absent: return .refused(Refusal(.personTokenInvalid, appID: app.appID))
        case .verified(let facts):
            guard facts.kind == .person, facts.expiresAt > now, let person = facts.person,
                belongs(facts, to: app, dialect)
            else { return .refused(Refusal(.personTokenInvalid, appID: app.appID)) }
            return .person(person)
        }
    }

    /// Persons belong to an organization, whichever of its apps they signed in with.
    private static func belongs(_ facts: TokenFacts, to app: App, _ dialect: Dialect) -> Bool {
        switch facts.source {
        case .own(let own): own.organization == app.organization && own.dialect == dialect
        case .outside(let issuer, let appID):
            issuer.serves(app.organization) && (appID == nil || appID == app.appID)
        }
    }
}

/// The outcome of judging the person.
package enum PersonJudgement: Sendable {
    case nobody
    case person(String)
    /// Verify the field's token, then judge again with the evidence.
    case needsToken
    indirect case refused(Refusal)
}
