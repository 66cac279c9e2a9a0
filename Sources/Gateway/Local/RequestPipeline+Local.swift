// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP
import Store
import Telemetry
import Transport

extension RequestPipeline {
    /// Whether the request is for an endpoint of the gateway's own.
    func matchLocally(_ exchange: Exchange) -> Bool {
        guard let table = exchange.facts.connection?.endpoints else { return false }
        guard let match = exchange.request.localMatch(in: table, isPreflight: exchange.isPreflight) else {
            return false
        }
        exchange.facts.local = match
        return true
    }

    /// Answers a preflight of an endpoint that pages call; others have none.
    func answerLocalPreflight(_ exchange: Exchange, _ match: LocalMatch) -> Step {
        guard match.endpoint.isBrowserFacing,
            case .success(let site) = SiteNormalizer.origin(presented: exchange.request.text(of: .origin))
        else { return refuse(exchange, .unlisted(exchange, match), outcome: .preflight) }
        var isListed = false
        for entry in SiteNormalizer.entries(admitting: site, dialect: match.endpoint.group.dialect) where !isListed {
            switch worker.state.directory.organizations(site: entry.utf8.span) {
            case .known(let organizations): isListed = !organizations.isEmpty
            case .unresolved: return wait(exchange) { state in await state.directory.load(site: entry) != .unavailable }
            case .unavailable: return refuse(exchange, .stateAway)
            }
        }
        return PreflightPhase.answer(exchange, LocalCORS.policy(match.endpoint.method), isListed: isListed, self)
    }

    /// Takes the body whole where somebody has to read it before it goes on.
    func gatherBody(_ exchange: Exchange) -> Step {
        guard let match = exchange.facts.local else { return .proceed }
        guard match.otherMethods.isEmpty else { return refuseMethod(exchange, match) }
        guard !exchange.requestIsComplete else { return .proceed }
        if case .length(let length) = exchange.request.framing, length > UInt64(match.endpoint.mostBytes) {
            return bodyTooLong(exchange, most: match.endpoint.mostBytes)
        }
        if !exchange.isGathering { exchange.gatherBody(atMost: match.endpoint.mostBytes) }
        return .wait
    }

    /// Runs the endpoint; its answer ends the exchange, unless the client has gone meanwhile.
    func answerLocally(_ exchange: Exchange) -> Step {
        guard let match = exchange.facts.local else { return .proceed }
        let request = LocalRequest(exchange, match, body: exchange.gatheredBody)
        let generation = exchange.generation
        let worker = worker
        Task { @Reactor in
            let outcome = await match.endpoint.answer(request, worker)
            guard exchange.generation == generation, exchange.stage == .judging else { return }
            finishLocally(exchange, match, outcome)
        }
        return .wait
    }

    private func finishLocally(_ exchange: Exchange, _ match: LocalMatch, _ outcome: LocalOutcome) {
        if let app = outcome.app { exchange.facts.app = app }
        switch outcome.reply {
        case .refusal(let refusal):
            _ = refuse(exchange, refusal)
        case .answer(var answer):
            let isRefusal = answer.status >= 400
            exchange.facts.outcome = answer.status >= 500 ? .failed : isRefusal ? .refused : .admitted
            exchange.facts.reason = outcome.reason
            if answer.status == 401 || answer.status == 403 {
                failures.failed(exchange.facts.client, at: worker.loop.now)
            }
            answer.fields.append(HeaderField(name: "sallyport-decision", value: exchange.facts.decision.text))
            answer.fields += LocalCORS.fields(exchange, match, isRefusal: isRefusal) + exchange.budgetFields
            exchange.respond(answer)
        }
    }

    private func refuseMethod(_ exchange: Exchange, _ match: LocalMatch) -> Step {
        let allowed = match.otherMethods.joined(separator: ", ")
        let refusal = Refusal(.methodNotAllowed, nextSteps: ["Use \(allowed)."])
        return refuse(exchange, refusal, extra: [HeaderField(name: "allow", value: allowed)])
    }

    /// The body outgrew what its reader takes.
    func bodyTooLong(_ exchange: Exchange, most: Int) -> Step {
        refuse(exchange, Refusal(.payloadTooLarge, nextSteps: ["Send at most \(most) bytes."]))
    }
}

extension Exchange {
    /// Endpoints of the gateway's own are counted before their body is read; everything else when it was judged.
    var phaseAfterBudget: RequestPipeline.Phase {
        if facts.local != nil { return .gatherBody }
        return facts.signIn == nil ? .handOff : .judgeSignIn
    }
}

extension Refusal {
    /// The page's origin is nobody's, or the endpoint is not for pages.
    @Reactor
    fileprivate static func unlisted(_ exchange: Exchange, _ match: LocalMatch) -> Refusal {
        .unlisted(origin: exchange.request.text(of: .origin), dialect: match.endpoint.group.dialect)
    }
}

extension RequestHead {
    /// The endpoint this head names; a preflight is matched by the method it asks about.
    fileprivate func localMatch(in table: LocalEndpointTable, isPreflight: Bool) -> LocalMatch? {
        guard table.mayServe(path) else { return nil }
        let method = isPreflight ? text(of: .accessControlRequestMethod) : methodText
        return table.match(path: pathText, method: method)
    }
}
