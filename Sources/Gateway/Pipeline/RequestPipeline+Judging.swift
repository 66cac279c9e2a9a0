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
        if naming == .token, let step = nameByToken(exchange, route) { return step }
        switch find(naming, exchange, route) {
        case .known(let app):
            worker.metrics.cacheHits.increment()
            exchange.facts.app = app
            exchange.facts.lookup = .found(app)
        case .unknown:
            worker.metrics.cacheUnknown.increment()
            exchange.facts.lookup = .unknown
        case .broken:
            worker.metrics.cacheBroken.increment()
            exchange.facts.lookup = .unknown
        case .unresolved:
            worker.metrics.cacheMisses.increment()
            return load(naming, exchange, route)
        case .unavailable:
            worker.metrics.cacheUnavailable.increment()
            return refuse(exchange, .stateAway)
        }
        return .proceed
    }

    private func find(_ naming: AppNaming, _ exchange: Exchange, _ route: Route) -> Store.AppLookup {
        let directory = worker.state.directory
        if naming == .route, let app = route.app { return directory.app(id: app.utf8.span) }
        if naming == .token { return exchange.facts.token?.app(in: directory) ?? .unknown }
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
    func admit(_ admission: Admission, _ exchange: Exchange, _ route: Route) {
        exchange.facts.outcome = .admitted
        exchange.facts.app = admission.app
        exchange.facts.admission = admission
        exchange.facts.openRevision = worker.state.streams.revision
        exchange.facts.isOriginListed = exchange.request.hasOrigin(listedBy: admission.app, in: route.settings.dialect)
        if let key = admission.keyID { noteUse(of: key, admission.app, exchange) }
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
        let judgement = CredentialTable.judge(
            exchange.request.presentedCredentials,
            access: isGuest ? route.signInAccess : route.settings.access,
            app: exchange.facts.lookup,
            named: exchange.facts.naming,
            dialect: route.settings.dialect,
            peppers: worker.state.peppers,
            token: evidence(exchange.facts.token, app: exchange.facts.app),
            now: worker.state.clock.now
        )
        if endpoint == .refresh { noteRenewal(judgement, exchange, route) }
        switch judgement {
        case .open:
            exchange.facts.outcome = .admitted
        case .admitted(let admission):
            admit(admission, exchange, route)
            if isGuest, let settings = route.settings.signIn {
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
            // What is known then is never "unchecked", so this happens once.
            return learnToken(exchange, route) ?? checkCredential(exchange)
        }
        return .proceed
    }
}

extension IPAddress {
    /// The /24 or /48 that a key's last use names.
    var noteworthyNetwork: String { family == .v4 ? "\(prefix(24))/24" : "\(prefix(48))/48" }
}

extension Store.AppLookup {
    /// Whether the registry was reached.
    fileprivate var isAnswer: Bool {
        switch self {
        case .known, .unknown, .broken: true
        case .unresolved, .unavailable: false
        }
    }
}
