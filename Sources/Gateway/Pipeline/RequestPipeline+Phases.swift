// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP
import Limits
import Store
import Transport

extension RequestPipeline {
    /// Finds the route that host, path and method name.
    func matchRoute(_ exchange: Exchange) -> Step {
        if worker.memory.level == .refusesRequests { return refuseForMemory(exchange) }
        if let port = exchange.facts.connection?.redirectPort { return redirect(exchange, to: port) }
        guard exchange.isRightlyDirected else { return refuse(exchange, Refusal(.misdirectedRequest)) }
        let snapshot = worker.snapshot
        if let connection = exchange.facts.connection {
            if let share = connection.share, share.requests > snapshot.settings.connections.requestsPerClient {
                return refuseForClient(exchange)
            }
            exchange.facts.client = connection.peer
            if exchange.request.fields.contains(.xForwardedFor) {
                if connection.isTrustedProxy {
                    let client = exchange.request.client(behind: connection.peer, trusted: snapshot.trustedProxies)
                    exchange.facts.client = client
                    exchange.facts.clientText = client.description
                } else {
                    worker.proxyHint.noticed(connection, log: worker.environment.log)
                }
            }
        }
        guard exchange.request.upgrade != .unsupported else {
            return refuseUpgrade(exchange)
        }
        if exchange.facts.connection?.endpoints?.answersChecks == true, exchange.request.asksForCheck {
            if let step = takeDescribed(exchange) { return step }
        } else if matchLocally(exchange) {
            return .proceed
        }
        guard let route = snapshot.route(of: exchange) else { return refuseUnrouted(exchange) }
        exchange.facts.route = route
        exchange.facts.timeouts = route.settings.timeouts
        exchange.facts.deadline = route.deadline(from: worker.loop.now)
        // A question about a request is answered here, so it cannot go round.
        if exchange.facts.check == nil, exchange.request.hasPassed(worker.environment.pseudonym) {
            return refuse(exchange, Refusal(.loopDetected))
        }
        return checkForm(exchange, route)
    }

    /// One client must not take what serves the others.
    private func refuseForClient(_ exchange: Exchange) -> Step {
        worker.defences.note(.requestsPerClient, client: exchange.facts.connection?.peerText ?? "")
        return refuse(exchange, Refusal(.stateUnavailable, reason: "too_many_under_way", retryAfter: 1))
    }

    /// What is under way has the memory that is left.
    private func refuseForMemory(_ exchange: Exchange) -> Step {
        worker.defences.note(.memoryRequest, client: exchange.facts.connection?.peerText ?? "")
        return refuse(exchange, Refusal(.stateUnavailable, reason: "memory_short", retryAfter: 1))
    }

    /// RFC 6455 4.4: who asks for another version is told ours.
    private func refuseUpgrade(_ exchange: Exchange) -> Step {
        let steps = ["Send a whole WebSocket handshake of version 13 by GET, or leave Upgrade out."]
        return refuse(
            exchange,
            Refusal(.badRequest, reason: "upgrade_not_supported", nextSteps: steps),
            extra: [HeaderField(name: "sec-websocket-version", value: "13")]
        )
    }

    /// What the route says of the request's form: its path, its size, its protocol.
    private func checkForm(_ exchange: Exchange, _ route: Route) -> Step {
        if route.settings.paths != .raw, let step = checkPath(exchange, route) { return step }
        if case .length(let length) = exchange.request.framing, length > UInt64(route.settings.body.bytes) {
            return refuse(exchange, route.bodyTooLarge)
        }
        if exchange.request.upgrade == .webSocket, let step = checkWebSocket(exchange, route) { return step }
        return .proceed
    }

    /// One form of the path is judged and forwarded (B76): the route must be the one that the normal form names too.
    ///
    /// A spelling that leads an upstream to what another route guards (`/%61dmin`, `//admin`) is refused, because that
    /// route's rules were not asked.
    private func checkPath(_ exchange: Exchange, _ route: Route) -> Step? {
        guard !exchange.request.hasPlainPath else { return nil }
        for policy in route.settings.paths == .reject ? [HTTP.PathPolicy.reject, .normalise] : [.normalise] {
            scratch.removeAll()
            if let problem = exchange.request.applyPathPolicy(policy, into: &scratch) {
                return refuse(
                    exchange,
                    Refusal(.badRequest, reason: problem.rawValue, nextSteps: ["Send the path in its plain form."])
                )
            }
        }
        guard !exchange.request.pathEquals(scratch) else { return nil }
        guard scratch.withBytes({ worker.snapshot.route(of: exchange, withPath: $0) }) === route else {
            return refuse(
                exchange,
                Refusal(.badRequest, reason: "path_leaves_route", nextSteps: ["Send the path in its plain form."])
            )
        }
        if route.settings.paths == .normalise {
            exchange.facts.rewrittenPath = scratch.withBytes { bytes in bytes.indices.map { bytes[$0] } }
        }
        return nil
    }

    private func redirect(_ exchange: Exchange, to port: UInt16) -> Step {
        exchange.facts.outcome = .admitted
        exchange.respond(RedirectAnswer.make(exchange, port: port))
        return .answered
    }

    /// Answers a preflight before any credential is asked for (B01 to B04).
    func answerPreflight(_ exchange: Exchange) -> Step {
        if let match = exchange.facts.local {
            return exchange.isPreflight ? answerLocalPreflight(exchange, match) : .proceed
        }
        guard exchange.isPreflight, let route = exchange.facts.route, let policy = route.settings.cors,
            case .restricted(let rules) = route.settings.access
        else { return .proceed }
        guard case .success(let site) = SiteNormalizer.origin(presented: exchange.request.text(of: .origin)) else {
            return PreflightPhase.answer(exchange, policy, isListed: false, self)
        }
        for entry in SiteNormalizer.entries(admitting: site, dialect: route.settings.dialect) {
            switch worker.state.directory.organizations(site: entry.utf8.span) {
            case .known(let organizations):
                guard organizations.contains(where: { rules.organizations.allows($0) }) else { continue }
                return PreflightPhase.answer(exchange, policy, isListed: true, self)
            case .unresolved:
                // A look-up for each new origin: whoever is refused too often causes no more of them.
                if let wait = failures.exhausted(exchange.facts.client, at: worker.loop.now) {
                    return refuse(exchange, Refusal(.tooManyFailures, retryAfter: wait))
                }
                return wait(exchange) { state in await state.directory.load(site: entry) != .unavailable }
            case .unavailable:
                return refuse(exchange, .stateAway)
            }
        }
        return PreflightPhase.answer(exchange, policy, isListed: false, self)
    }

    /// Asks whether the address is allowed here, and whether it has failed too often.
    func guardClient(_ exchange: Exchange) -> Step {
        if let route = exchange.facts.route, !route.admits(exchange.facts.client) {
            return refuse(exchange, Refusal(.clientNotAllowed))
        }
        if exchange.facts.route?.isOpen != true,
            let wait = failures.exhausted(exchange.facts.client, at: worker.loop.now)
        {
            return refuse(exchange, Refusal(.tooManyFailures, retryAfter: wait))
        }
        return .proceed
    }

    /// Starts work that needs Redis and runs the present phase again when it is done; work that says false could not
    /// reach Redis, and the answer is 503 at once (nothing waits past `state.deadline`).
    ///
    /// One more wait than names a request can carry means that what was loaded is forgotten at once: Redis is failing.
    func wait(_ exchange: Exchange, for work: @escaping @Reactor (WorkerState) async -> Bool) -> Step {
        guard exchange.facts.waits < Self.mostWaits else { return refuse(exchange, .stateAway) }
        exchange.facts.waits += 1
        let generation = exchange.generation
        let state = worker.state
        Task { @Reactor in
            let isAnswered = await work(state)
            resume(exchange, generation: generation, isAnswered: isAnswered)
        }
        return .wait
    }

    private static let mostWaits = 6
}
