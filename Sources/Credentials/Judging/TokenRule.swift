// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What verifying the bearer token showed.
package enum TokenEvidence: Sendable {
    case unchecked
    /// `Authorization` holds no bearer token but something of another scheme: no credential of ours.
    case absent
    /// Not a token that this gateway can verify.
    case invalid(TokenFault)
    case verified(TokenFacts)
}

/// The rows of the table that a verified token meets; judged again on every use, whatever a cache says.
enum TokenRule {
    /// nil: the token is no credential here, as if none was sent (OFF-077, OFF-078).
    static func judge(_ facts: TokenFacts, _ standing: CredentialTable.Standing) -> Judgement? {
        let app = standing.app
        guard facts.expiresAt > standing.now else {
            return .refused(.token(.expired, in: standing.dialect, appID: app.appID))
        }
        guard standing.rules.credentials.contains(facts.kind), speaks(facts, standing) else { return nil }
        // OFF-086, OFF-087: the mode's present state decides.
        if facts.kind.needsDevelopmentMode(facts.trust), !app.isInDevelopment(now: standing.now) {
            return .refused(
                Refusal(
                    .appCredentialsRequired,
                    missing: .developmentMode,
                    appID: app.appID,
                    nextSteps: NextSteps.developmentEnded(isProduction: app.record.isProduction)
                )
            )
        }
        if let least = standing.rules.minimumTrust, facts.kind.carriesTrust, facts.trust.map({ $0 < least }) ?? true {
            return .refused(
                Refusal(
                    .trustTooLow,
                    appID: app.appID,
                    nextSteps: [NextSteps.registeredBuild],
                    details: [("trust", facts.trust?.rawValue ?? "none"), ("required", least.rawValue)]
                )
            )
        }
        return .admitted(Admission(app: app, kind: facts.kind, trust: facts.trust, person: facts.person))
    }

    /// Whether the token was made for this app, in this dialect.
    private static func speaks(_ facts: TokenFacts, _ standing: CredentialTable.Standing) -> Bool {
        let app = standing.app
        // OFF-078: the session of a web or API-key sign-in is no credential by itself.
        if facts.kind == .sessionToken, facts.trust == nil { return false }
        switch facts.source {
        case .own(let own):
            return own.app == app.recordID && own.organization == app.organization && own.dialect == standing.dialect
        case .outside(let issuer, let appID):
            // An issuer's tokens count for the organizations that the platform's file lists, and for the app they name.
            return issuer.serves(app.organization) && (appID == nil || appID == app.appID)
        }
    }

}

extension Refusal {
    /// The bearer token is no good; nothing but expiry is told apart outside: why a token fails is for the log.
    package static func token(_ fault: TokenFault, in dialect: Dialect, appID: AppID? = nil) -> Refusal {
        guard dialect != .vouch else {
            return Refusal(.invalidRunToken, appID: appID, nextSteps: [NextSteps.attestAgain])
        }
        return Refusal(
            .appTokenInvalid,
            reason: fault == .expired ? "expired" : nil,
            appID: appID,
            nextSteps: [NextSteps.signInAgain]
        )
    }

    /// The bearer token names no app, and nothing else does.
    package static func unnamedApp(in dialect: Dialect) -> Refusal {
        switch dialect {
        case .offlineid: appNotNamed
        case .appengine, .vouch: Refusal(.appCredentialsRequired, missing: .credential)
        }
    }
}

extension CredentialKind {
    /// Whether what has this trust counts only while the app's development mode lasts.
    ///
    /// Run tokens have no such mode: their test keys and development devices are named one by one (VCH-027).
    package func needsDevelopmentMode(_ trust: Trust?) -> Bool { trust == .development && self != .runToken }

    /// Whether a route's `min_trust` is about tokens of this kind; the others are admitted by being listed.
    var carriesTrust: Bool {
        switch self {
        case .appToken, .sessionToken, .runToken: true
        case .origin, .apiKey, .webToken, .serverToken, .debugToken, .person: false
        }
    }
}
