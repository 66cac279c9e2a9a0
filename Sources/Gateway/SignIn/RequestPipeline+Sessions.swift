// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP
import Store
import Transport

extension RequestPipeline {
    /// Finds what an opaque session token is bound to; nil: the bearer token is none, or what it is worth is known now.
    func learnOpaqueSession(_ exchange: Exchange) -> Step? {
        guard worker.snapshot.bindsSessions, let app = exchange.facts.app,
            let token = exchange.request.opaqueBearerToken
        else { return nil }
        let sessions = worker.signIn.sessions
        if let known = sessions.remembered(token, app: app.recordID, now: worker.state.clock.now) {
            exchange.facts.token = .good(VerifiedToken(known.facts(of: app)))
            return nil
        }
        let generation = exchange.generation
        Task { @Reactor in
            let found: BoundSession?
            do throws(StoreError) {
                found = try await sessions.session(token, app: app.recordID)
            } catch {
                return resume(exchange, generation: generation, isAnswered: false)
            }
            guard exchange.generation == generation, exchange.stage == .judging else { return }
            // A token that is bound to nothing here is another app's, a page's or a server's: no
            // credential (OFF-077, OFF-078).
            exchange.facts.token = found.map { .good(VerifiedToken($0.facts(of: app))) } ?? .absent
            advance(exchange)
        }
        return .wait
    }

    /// A request to the path that renews sessions was admitted, or refused for want of a credential.
    func noteRenewal(_ judgement: Judgement, _ exchange: Exchange, _ route: Route) {
        guard let settings = route.settings.signIn, let app = exchange.facts.app else { return }
        switch judgement {
        case .admitted(let admission):
            guard admission.kind == .sessionToken, let trust = admission.trust else { return }
            var signedInAt = worker.state.clock.stamp
            if case .good(let token) = exchange.facts.token { signedInAt = token.facts.issuedAt }
            let grant = SignInGrant(
                app: app,
                verdict: SignInVerdict(trust: trust),
                caps: [],
                signedInAt: signedInAt,
                isRenewal: true
            )
            exchange.facts.signIn = SignInAttempt(.refresh, settings, stage: .granted(grant))
        case .refused(let refusal)
        where [.appCredentialsRequired, .appTokenInvalid, .originNotAllowed].contains(refusal.code):
            exchange.facts.outcome = .admitted
            exchange.facts.signIn = SignInAttempt(.refresh, settings, stage: .undecided(fallback: refusal))
        case .refused, .open, .needsToken: return
        }
    }
}

extension SignInService {
    /// What becomes of a request to renew a session: its `refresh_token` has to be one that was bound for this app.
    func renewal(
        by token: String?,
        fallback: Refusal,
        _ context: SignInContext
    ) async throws(SignInFailure) -> SignInAttempt.Stage {
        guard let token else { return .refused(fallback) }
        let found: BoundSession?
        do {
            found = try await sessions.session(token, as: .refresh, app: context.app.recordID)
        } catch {
            throw .away
        }
        guard let session = found, session.expiresAt > context.now,
            !state.isRevoked(VerifiedToken(session.facts(of: context.app)), app: context.app)
        else { return .refused(fallback) }
        // OFF-086: a development session ends with the mode, and so does its renewal.
        if session.trust == .development, !context.policy.isDevelopmentModeOn {
            return .refused(.developmentEnded(context.policy))
        }
        if let least = context.minimumTrust, session.trust < least {
            return .refused(.trustTooLow(session.trust, least, context.policy))
        }
        return .granted(
            SignInGrant(
                app: context.app,
                verdict: SignInVerdict(trust: session.trust),
                caps: [],
                signedInAt: session.issuedAt,
                isRenewal: true
            )
        )
    }
}

extension RequestHead {
    /// A bearer token that is no JWT.
    fileprivate var opaqueBearerToken: String? {
        guard let value = fields.first(.authorization), let place = BearerField.token(authorization: value) else {
            return nil
        }
        let token = value.extracting(place.range)
        var dots = 0
        for index in token.indices where token[index] == UInt8(ascii: ".") { dots += 1 }
        guard dots != 2 else { return nil }
        return token.validText
    }
}
