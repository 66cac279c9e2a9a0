// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP
import Store
import Telemetry
import Transport

extension RequestPipeline {
    // MARK: The app's token

    /// Finds out what the bearer token is worth; nil when that is known now.
    func learnToken(_ exchange: Exchange, _ route: Route) -> Step? {
        guard exchange.facts.token == nil else { return nil }
        // The keys are read before the lease is taken: a worker without one cannot call a token bad.
        guard worker.state.isServing else { return refuse(exchange, .stateAway) }
        if route.settings.dialect == .vouch, exchange.request.bearsRunToken { return lookUpRunToken(exchange) }
        if route.settings.dialect == .offlineid {
            if let step = learnOpaqueSession(exchange) { return step }
            if exchange.facts.token != nil { return nil }
        }
        if let step = learn(.application, in: .authorization, exchange) { return step }
        return learnPersonAlone(exchange, route)
    }

    /// A bearer token that is none of an app's may be a person's, where the route lists `person` (APP-008).
    private func learnPersonAlone(_ exchange: Exchange, _ route: Route) -> Step? {
        guard case .bad(let fault) = exchange.facts.token, fault == .wrongIssuer || fault == .wrongKind,
            case .restricted(let rules) = route.settings.access, rules.credentials.contains(.person)
        else { return nil }
        return learn(.person, in: .authorization, exchange)
    }

    /// Finds the app that only the token can name; nil: it is named, or it is none.
    func nameByToken(_ exchange: Exchange, _ route: Route) -> Step? {
        guard case .restricted(let rules) = route.settings.access, rules.credentials.takesTokens else {
            return refuse(exchange, .unnamedApp(in: route.settings.dialect))
        }
        if let step = learnToken(exchange, route) { return step }
        switch exchange.facts.token {
        case .good(let token) where token.facts.namedApp != nil: return nil
        case .bad(let fault):
            return refuse(exchange, .token(fault, in: route.settings.dialect), logged: fault.logWord)
        case .good, .absent, nil: return refuse(exchange, .unnamedApp(in: route.settings.dialect))
        }
    }

    // MARK: The person's token

    /// Asks who the person is, beside the app that was admitted.
    func checkPerson(_ exchange: Exchange) -> Step {
        guard let route = exchange.facts.route, route.personRule != .none, let admission = exchange.facts.admission
        else { return .proceed }
        let judgement = PersonTable.judge(
            exchange.request.presentedCredentials,
            rule: route.personRule,
            app: admission.app,
            dialect: route.settings.dialect,
            token: evidence(exchange.facts.personToken, app: admission.app),
            now: worker.state.clock.now
        )
        switch judgement {
        case .nobody: return .proceed
        case .person(let person):
            // Two persons in one request: neither is believed.
            if let session = admission.person, session != person {
                return refuse(
                    exchange,
                    Refusal(.personTokenInvalid, appID: admission.app.appID),
                    logged: "other_person"
                )
            }
            exchange.facts.admission?.person = person
            return .proceed
        case .refused(let refusal):
            // A session is a person's own (dialects.md, differences): it needs no second token.
            if refusal.code == .personTokenRequired, admission.person != nil { return .proceed }
            return refuse(exchange, refusal, logged: exchange.facts.personToken?.fault?.logWord)
        case .needsToken:
            return learn(.person, in: .xClientAuthorization, exchange) ?? checkPerson(exchange)
        }
    }

    // MARK: Evidence

    /// What a known token proves at this moment: revocations are asked on every use.
    func evidence(_ knowledge: TokenKnowledge?, app: App?) -> TokenEvidence {
        switch knowledge {
        case nil: return .unchecked
        case .absent: return .absent
        case .bad(let fault): return .invalid(fault)
        case .good(let token):
            return worker.state.isRevoked(token, app: app) ? .invalid(.revoked) : .verified(token.facts)
        }
    }

    private func learn(_ use: TokenUse, in field: KnownField, _ exchange: Exchange) -> Step? {
        let now = worker.state.clock.now
        // Without what somebody would need who had to wait.
        if let known = exchange.request.seenToken(in: field, as: use, by: worker.state.tokens, now: now) {
            exchange.facts.note(known, in: field)
            return nil
        }
        let generation = exchange.generation
        let step = exchange.request.judgeToken(
            in: field,
            as: use,
            by: worker.state.tokens,
            from: exchange.facts.client,
            now: now
        ) { [self] in
            { [self] knowledge in
                guard exchange.generation == generation, exchange.stage == .judging else { return }
                exchange.facts.note(knowledge, in: field)
                advance(exchange)
            }
        }
        switch step {
        case .known(let knowledge):
            exchange.facts.note(knowledge, in: field)
            return nil
        case .queued:
            return .wait
        case .shareSpent:
            worker.metrics.tokensDropped.increment()
            return refuse(exchange, Refusal(.tooManyFailures, retryAfter: 1), logged: "token_share_spent")
        case .full:
            worker.metrics.tokensDropped.increment()
            return refuse(exchange, .stateAway, logged: "token_queue_full")
        }
    }

    private func lookUpRunToken(_ exchange: Exchange) -> Step? {
        guard let lookup = worker.state.runTokens else {
            exchange.facts.token = .bad(.unknownKey)
            return nil
        }
        let (token, binding) = exchange.request.runToken
        let now = worker.state.clock.now
        if let known = lookup.known(token: token, bound: binding, now: now) {
            return note(known, exchange)
        }
        let generation = exchange.generation
        Task { @Reactor in
            let answer = await lookup.facts(of: token, bound: binding, now: now)
            guard exchange.generation == generation, exchange.stage == .judging else { return }
            if case .unavailable = answer { return resume(exchange, generation: generation, isAnswered: false) }
            _ = note(answer, exchange)
            advance(exchange)
        }
        return .wait
    }

    private func note(_ answer: RunTokenAnswer, _ exchange: Exchange) -> Step? {
        switch answer {
        case .valid(let facts): exchange.facts.token = .good(VerifiedToken(facts))
        case .invalid: exchange.facts.token = .bad(.unknownKey)
        case .unavailable: return refuse(exchange, .stateAway)
        }
        return nil
    }
}

extension WorkerState {
    /// Whether a token is revoked: by its id, or by a watermark of anything that it was made for or is used with.
    func isRevoked(_ token: VerifiedToken, app: App?) -> Bool {
        if revocations.isRevoked(token.revocation, issuedAt: token.facts.issuedAt) { return true }
        guard token.isOutside, revocations.hasMarks, let app else { return false }
        if revocations.isRevoked(.app(app.recordID), issuedAt: token.facts.issuedAt) { return true }
        guard let person = token.facts.person else { return false }
        return revocations.isRevoked(.person(app.organization, person), issuedAt: token.facts.issuedAt)
    }
}

extension ExchangeFacts {
    mutating func note(_ knowledge: TokenKnowledge, in field: KnownField) {
        if field == .authorization { token = knowledge } else { personToken = knowledge }
    }

    /// Why the token was no good, for the log, where that is what the refusal says.
    func tokenReason(of refusal: Refusal) -> String? {
        switch refusal.code {
        case .appTokenInvalid, .invalidRunToken: token?.fault?.logWord ?? "token_revoked"
        default: nil
        }
    }
}
