// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP
import Limits
import Store
import Telemetry
import Transport

extension RequestPipeline {
    /// Finds the app that the request speaks for.
    func identifyApp(_ exchange: Exchange) -> Step {
        guard let route = exchange.facts.route, !route.isOpen else { return .proceed }
        let naming = AppNaming.of(
            exchange.request.presentedCredentials,
            dialect: route.settings.dialect,
            routeNamesApp: route.app != nil,
            canSayOrganization: !exchange.facts.offeredToken
        )
        if case .refused(let refusal) = naming { return refuse(exchange, refusal) }
        exchange.facts.naming = naming
        if case .token = naming, let step = nameByToken(exchange, route) { return step }
        switch find(naming, exchange, route) {
        case .known(let app):
            worker.metrics.cacheHits.increment()
            exchange.facts.app = app
        case .unknown:
            worker.metrics.cacheUnknown.increment()
        case .broken:
            worker.metrics.cacheBroken.increment()
        case .unresolved:
            worker.metrics.cacheMisses.increment()
            return load(naming, exchange, route)
        case .unavailable:
            worker.metrics.cacheUnavailable.increment()
            return refuse(exchange, .stateAway)
        }
        return .proceed
    }

    private func find(_ naming: AppNaming, _ exchange: Exchange, _ route: Route) -> AppLookup {
        let directory = worker.state.directory
        if case .route = naming, let app = route.app { return directory.app(id: app.utf8.span) }
        if case .token = naming { return exchange.facts.token?.app(in: directory) ?? .unknown }
        return exchange.request.app(named: naming, in: directory)
    }

    private func load(_ naming: AppNaming, _ exchange: Exchange, _ route: Route) -> Step {
        switch naming {
        case .appID:
            let id = exchange.request.text(of: .xAppID)
            return wait(exchange) { state in await state.directory.load(id: id).isAnswer }
        case .organizationAndName:
            let organization = exchange.request.text(of: .orgID)
            let name = exchange.request.text(of: .appID)
            return wait(exchange) { state in await state.directory.load(organization: organization, name: name).isAnswer
            }
        case .apiKey:
            let key = exchange.request.presentedKeyID?.rawValue ?? ""
            return wait(exchange) { state in await state.directory.load(key: key).isAnswer }
        case .route:
            let id = route.app ?? ""
            return wait(exchange) { state in await state.directory.load(id: id).isAnswer }
        case .token:
            guard let app = exchange.facts.token?.namedApp else { return .proceed }
            return wait(exchange) { state in
                switch app {
                case .record(let id): await state.directory.load(record: id.rawValue).isAnswer
                case .appID(let id): await state.directory.load(id: id.rawValue).isAnswer
                }
            }
        case .refused:
            return .proceed
        }
    }

    /// Notes whom the request speaks for.
    func admit(_ admission: consuming Admission, _ exchange: Exchange, _ route: Route) {
        exchange.facts.outcome = .admitted
        exchange.facts.openRevision = worker.state.streams.revision
        exchange.facts.isOriginListed =
            admission.kind == .origin || exchange.request.hasOrigin(listedBy: admission.app, in: route.dialect)
        if let key = admission.keyID { noteUse(of: key, admission.app, exchange) }
        exchange.facts.admission = admission
        worker.metrics.admissions.increment()
    }

    /// When and from which network a key was last used: enough to recognise a server, not a person.
    private func noteUse(of key: APIKeyID, _ app: App, _ exchange: Exchange) {
        let client = exchange.facts.client
        guard worker.state.keyUses.note(key, network: { client.noteworthyNetwork }) else { return }
        worker.state.renewal.presented(Array(exchange.request.text(of: .xAPIKey).utf8), .key(key), of: app)
    }

    /// Asks whether the request may speak for that app.
    func checkCredential(_ exchange: Exchange) -> Step {
        guard let route = exchange.facts.route else { return .proceed }
        let endpoint = route.signInEndpoint(of: exchange)
        let isGuest = route.settings.dialect == .appengine && endpoint == .guest
        if let endpoint, endpoint != .refresh, !isGuest { return checkSignIn(exchange, endpoint, route) }
        let access = isGuest ? route.signInAccess : route.access
        let judgement = CredentialTable.judge(
            exchange.request.presentedCredentials,
            access: access,
            app: exchange.facts.lookup,
            named: exchange.facts.naming,
            dialect: route.dialect,
            peppers: worker.state.peppers,
            token: evidence(exchange.facts.token, app: exchange.facts.app),
            now: worker.state.clock.now
        )
        if case .needsToken = judgement {
            if let step = learnToken(exchange, route) { return step }
            // What is known of it now is never "unchecked": where it decides nothing, the whole
            // table is read once more.
            guard let judgement = judgeByToken(exchange, access, route) else { return checkCredential(exchange) }
            return follow(judgement, exchange, route, endpoint)
        }
        return follow(judgement, exchange, route, endpoint)
    }

    private func judgeByToken(_ exchange: Exchange, _ access: RouteAccess, _ route: Route) -> Judgement? {
        guard let app = exchange.facts.app else { return nil }
        return CredentialTable.judge(
            byToken: evidence(exchange.facts.token, app: app),
            access: access,
            app: app,
            dialect: route.dialect,
            now: worker.state.clock.now
        )
    }

    /// Does what was judged.
    private func follow(
        _ judgement: Judgement,
        _ exchange: Exchange,
        _ route: Route,
        _ endpoint: SignInEndpoint?
    ) -> Step {
        if endpoint == .refresh { noteRenewal(judgement, exchange, route) }
        switch judgement {
        case .open:
            exchange.facts.outcome = .admitted
        case .admitted(let admission):
            admit(admission, exchange, route)
            if endpoint == .guest, let settings = route.settings.signIn {
                exchange.facts.signIn = SignInAttempt(.guest, settings, stage: .undecided(fallback: .stateAway))
            }
        case .refused where exchange.facts.signIn != nil:
            // The body may hold what renews the session.
            return .proceed
        case .refused(let refusal):
            if refusal.code == .originNotAllowed, let app = exchange.facts.app {
                worker.metrics.app(app).originRefusals.increment()
            }
            return refuse(exchange, refusal, logged: exchange.facts.tokenReason(of: refusal))
        case .needsToken:
            preconditionFailure("a token is looked at before its judgement is followed")
        }
        return .proceed
    }
}

extension IPAddress {
    /// The /24 or /48 that a key's last use names.
    var noteworthyNetwork: String { family == .v4 ? "\(prefix(24))/24" : "\(prefix(48))/48" }
}

extension AppLookup {
    /// Whether the registry was reached.
    fileprivate var isAnswer: Bool {
        switch self {
        case .known, .unknown, .broken: true
        case .unresolved, .unavailable: false
        }
    }
}
