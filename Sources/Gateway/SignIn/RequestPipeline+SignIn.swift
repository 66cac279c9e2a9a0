// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import HTTP
import Limits
import Store
import Telemetry
import Transport

extension RequestPipeline {
    /// Asks whether a request to a sign-in path may speak for its app: by API key or allowed origin like any other,
    /// else by what its body says (requirements 13.1).
    func checkSignIn(_ exchange: Exchange, _ endpoint: SignInEndpoint, _ route: Route) -> Step {
        guard let settings = route.settings.signIn else { return .proceed }
        let judgement = CredentialTable.judge(
            exchange.request.presentedCredentials,
            access: route.signInAccess,
            app: exchange.facts.lookup,
            named: exchange.facts.naming,
            dialect: route.settings.dialect,
            peppers: worker.state.peppers,
            now: worker.state.clock.now
        )
        exchange.facts.outcome = .admitted
        switch judgement {
        case .admitted(let admission):
            admit(admission, exchange, route)
            exchange.facts.signIn = SignInAttempt(endpoint, settings, stage: .granted(nil))
        case .refused(let refusal) where exchange.facts.app != nil && refusal.isMendedByBody:
            exchange.facts.signIn = SignInAttempt(endpoint, settings, stage: .undecided(fallback: refusal))
        case .refused(let refusal):
            return refuse(exchange, refusal)
        case .open, .needsToken:
            // `signInAccess` of dialect A is restricted and takes no tokens; whatever else comes
            // of it is let in by nobody.
            return refuse(exchange, .stateAway)
        }
        return .proceed
    }

    /// Reads the body of a sign-in and judges what it says.
    func judgeSignIn(_ exchange: Exchange) -> Step {
        guard let attempt = exchange.facts.signIn else { return .proceed }
        switch attempt.stage {
        case .granted: return .proceed
        case .judging: return .wait
        case .refused(let refusal): return refuse(exchange, refusal)
        case .undecided(let fallback):
            guard let app = exchange.facts.app else { return refuse(exchange, fallback) }
            if let step = gatherSignIn(exchange, app) { return step }
            if exchange.facts.dialect == .appengine { return judgeGuest(exchange, app, attempt) }
            let body: SignInBody
            do {
                body = try SignInBody(reading: exchange.gatheredBody, for: attempt.endpoint)
            } catch {
                return refuse(exchange, .form(error, appID: app.appID))
            }
            // Open question 10: a browser on a site that is not listed is no device that cannot attest.
            if body.attestation == nil, attempt.endpoint != .refresh, fallback.code == .originNotAllowed {
                return refuse(exchange, fallback)
            }
            attempt.stage = .judging
            judge(body, attempt, exchange, app, fallback)
            return .wait
        }
    }

    /// A signed-in app makes a guest: only the form is asked for, the upstream does the rest (open question 35).
    private func judgeGuest(_ exchange: Exchange, _ app: App, _ attempt: SignInAttempt) -> Step {
        do {
            _ = try GuestForm(try FormBody(exchange.gatheredBody))
        } catch {
            return refuse(exchange, .guestForm(error, appID: app.appID))
        }
        attempt.stage = .granted(nil)
        return .proceed
    }

    /// Takes the body into memory; nil when it is there.
    private func gatherSignIn(_ exchange: Exchange, _ app: App) -> Step? {
        guard !exchange.isGathering || !exchange.requestIsComplete else { return nil }
        if exchange.isGathering { return .wait }
        if case .length(let length) = exchange.request.framing, length > UInt64(SignInBody.mostBytes) {
            return bodyTooLong(exchange, most: SignInBody.mostBytes)
        }
        let isPlain = MediaTypeCheck.isPlainJSON(
            contentType: exchange.request.text(of: .contentType),
            contentEncoding: exchange.request.text(of: .contentEncoding)
        )
        guard isPlain else {
            let isEngine = exchange.facts.dialect == .appengine
            return refuse(
                exchange,
                isEngine ? .guestForm(.mediaType, appID: app.appID) : .form(.mediaType, appID: app.appID)
            )
        }
        if exchange.requestIsComplete { return nil }
        exchange.gatherBody(atMost: SignInBody.mostBytes)
        return .wait
    }

    private func judge(
        _ body: SignInBody,
        _ attempt: SignInAttempt,
        _ exchange: Exchange,
        _ app: App,
        _ fallback: Refusal
    ) {
        let generation = exchange.generation
        let context = SignInContext(
            endpoint: attempt.endpoint,
            app: app,
            client: exchange.facts.client.network,
            reservation: exchange.facts.decision.text,
            minimumTrust: exchange.facts.route?.minimumTrust,
            now: worker.state.clock.now
        )
        let service = worker.signIn
        Task { @Reactor in
            let stage = await service.stage(of: body, fallback, context)
            guard exchange.generation == generation, exchange.stage == .judging else {
                // The client has gone, and nothing was asked of the upstream.
                if case .granted(let grant) = stage { service.giveBack(grant, context.reservation) }
                return
            }
            attempt.stage = stage
            advance(exchange)
        }
    }
}

extension Refusal {
    /// Whether an attestation in the body would mend it.
    fileprivate var isMendedByBody: Bool {
        switch code {
        case .originNotAllowed: true
        case .appCredentialsRequired: missing == .attestation || missing == .nativeRegistration
        default: false
        }
    }
}
