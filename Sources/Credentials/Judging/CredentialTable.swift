// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// May this request speak for this app: one table, read top to bottom; falling off it is a refusal.
package enum CredentialTable {
    /// Judges one request, synchronously; allocates only when it refuses.
    ///
    /// `named` is how the app was named, so that an app that an API key cannot name reads as a bad key.
    package static func judge(
        _ presented: borrowing PresentedCredentials,
        access: RouteAccess,
        app lookup: AppFinding,
        named: AppNaming,
        dialect: Dialect,
        peppers: PepperRing,
        token: TokenEvidence = .unchecked,
        now: Int64
    ) -> Judgement {
        guard case .restricted(let rules) = access else { return .open }
        if presented.isAmbiguous { return .refused(Refusal(.ambiguousCredentials)) }
        let app: App
        switch lookup {
        case .unavailable: return .refused(.stateAway)
        case .unknown: return .refused(unknown(presented, named: named, rules: rules, dialect: dialect))
        case .found(let found): app = found
        }
        guard app.isEnabled, !app.record.isRevoked else { return .refused(.closedApp(app, in: dialect)) }
        guard app.record.dialects.contains(dialect) else {
            return .refused(noApp(presented, named: app.appID, rules: rules, dialect: dialect))
        }
        guard rules.organizations.allows(app.organization) else {
            return .refused(
                Refusal(.organizationNotAllowed, appID: app.appID, nextSteps: [NextSteps.organization])
            )
        }
        if dialect == .appengine, presented.has(.organization),
            !presented.organization.equals(app.organization.rawValue)
        {
            return .refused(
                Refusal(
                    .appCredentialsRequired,
                    missing: .credential,
                    reason: "organization_mismatch",
                    nextSteps: [NextSteps.sameOrganization]
                )
            )
        }
        return credential(
            presented,
            of: Standing(app: app, rules: rules, dialect: dialect, now: now),
            peppers: peppers,
            token: token
        )
    }

    /// Goes on with a request that `judge` left at `needsToken` when its token is known in the same breath: the rows
    /// above are not read again; nil: no token decides it, and the whole table does.
    package static func judge(
        byToken token: TokenEvidence,
        access: RouteAccess,
        app: App,
        dialect: Dialect,
        now: Int64
    ) -> Judgement? {
        guard case .restricted(let rules) = access else { return nil }
        return judge(token, Standing(app: app, rules: rules, dialect: dialect, now: now))
    }

    /// What does not change from one row of the table to the next.
    struct Standing {
        let app: App
        let rules: AccessRules
        let dialect: Dialect
        let now: Int64
    }

    private static func credential(
        _ presented: borrowing PresentedCredentials,
        of standing: Standing,
        peppers: PepperRing,
        token: TokenEvidence
    ) -> Judgement {
        let app = standing.app
        let kinds = standing.rules.credentials
        var keyFault: KeyVerdict?
        if presented.has(.apiKey), kinds.contains(.apiKey) {
            let verdict = app.verify(presented.apiKey, with: peppers)
            if case .valid(let id) = verdict { return .admitted(Admission(app: app, kind: .apiKey, keyID: id)) }
            keyFault = verdict
        }
        if presented.has(.origin), kinds.contains(.origin) {
            if app.allows(origin: presented.origin, in: standing.dialect) {
                return .admitted(Admission(app: app, kind: .origin))
            }
        }
        if presented.has(.authorization), kinds.takesTokens {
            if case .unchecked = token { return .needsToken }
            if let judgement = judge(token, standing) { return judgement }
        }
        return .refused(refusal(presented, standing, keyFault: keyFault))
    }

    /// The row of the bearer token; nil: it is no credential here.
    private static func judge(_ token: TokenEvidence, _ standing: Standing) -> Judgement? {
        switch token {
        case .unchecked, .absent: return nil
        case .invalid(let fault):
            return .refused(.token(fault, in: standing.dialect, appID: standing.app.appID))
        case .verified(let facts):
            if let judgement = TokenRule.judge(facts, standing) { return judgement }
            // E.1: why a run token does not count is not told apart.
            guard facts.kind == .runToken else { return nil }
            return .refused(.token(.wrongKind, in: standing.dialect, appID: standing.app.appID))
        }
    }

    private static func unknown(
        _ presented: borrowing PresentedCredentials,
        named: AppNaming,
        rules: AccessRules,
        dialect: Dialect
    ) -> Refusal {
        guard case .apiKey = named else {
            return noApp(presented, named: AppID(presented: presented.appID), rules: rules, dialect: dialect)
        }
        return Refusal(
            .appCredentialsRequired,
            missing: .credential,
            reason: "unknown_key",
            nextSteps: steps(presented, rules: rules, dialect: dialect)
        )
    }

    /// The app is unknown, or not for this dialect: what a known one would be told that lacks a credential.
    private static func noApp(
        _ presented: borrowing PresentedCredentials,
        named appID: AppID?,
        rules: AccessRules,
        dialect: Dialect
    ) -> Refusal {
        var refusal = Refusal.unknownApp(in: dialect, named: appID)
        if dialect == .appengine { refusal.reason = missingAuthorization(presented, rules) }
        return refusal
    }

    private static func refusal(
        _ presented: borrowing PresentedCredentials,
        _ standing: Standing,
        keyFault: KeyVerdict?
    ) -> Refusal {
        let app = standing.app
        let reason = keyFault.flatMap(reason)
        let hasToken = presented.has(.authorization) && standing.rules.credentials.takesTokens
        // OFF-067: an origin that is not listed, and nothing else; a bad key counts as none (OFF-004).
        if presented.has(.origin), standing.rules.credentials.contains(.origin), !hasToken {
            return Refusal(
                .originNotAllowed,
                reason: reason,
                appID: app.appID,
                nextSteps: [NextSteps.allow(presented.origin, dialect: standing.dialect)]
            )
        }
        if standing.rules.takesAttestation {
            // OFF-012: on routes that take an attestation its absence is what is missing.
            return Refusal(
                .appCredentialsRequired,
                missing: app.hasNativeIdentity ? .attestation : .nativeRegistration,
                reason: reason,
                appID: app.appID,
                nextSteps: app.hasNativeIdentity ? [NextSteps.attest] : NextSteps.registerNative
            )
        }
        var steps = steps(presented, rules: standing.rules, dialect: standing.dialect)
        if keyFault == .malformed { steps.insert(NextSteps.mistypedKey, at: 0) }
        if hasToken { steps.insert(standing.dialect == .vouch ? NextSteps.attestAgain : NextSteps.signInAgain, at: 0) }
        return Refusal(
            .appCredentialsRequired,
            missing: .credential,
            reason: reason ?? missingAuthorization(presented, standing.rules),
            appID: app.appID,
            nextSteps: steps
        )
    }

    private static func steps(
        _ presented: borrowing PresentedCredentials,
        rules: AccessRules,
        dialect: Dialect
    ) -> [String] {
        var steps: [String] = []
        if rules.credentials.contains(.origin) {
            steps.append(
                presented.has(.origin)
                    ? NextSteps.allow(presented.origin, dialect: dialect) : NextSteps.addOrigin(dialect: dialect)
            )
        }
        if rules.credentials.contains(.apiKey) { steps.append(NextSteps.serverKey) }
        // A caller that shows a token is told to renew it.
        if steps.isEmpty, !presented.has(.authorization) { steps.append(NextSteps.present(in: dialect)) }
        return steps
    }

    private static func missingAuthorization(
        _ presented: borrowing PresentedCredentials,
        _ rules: AccessRules
    ) -> String? {
        !presented.has(.authorization) && rules.credentials.takesTokens ? "missing_authorization" : nil
    }

    private static func reason(_ fault: KeyVerdict) -> String? {
        switch fault {
        case .valid: nil
        case .malformed: "malformed_key"
        case .unknown: "unknown_key"
        case .invalid: "invalid_key"
        }
    }
}
