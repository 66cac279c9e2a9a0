// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Limits
import Store
import Telemetry
import Transport

extension RequestPipeline: WindowReceiver {
    /// Asks whether there is budget left in every window.
    func spendBudget(_ exchange: Exchange) -> Step {
        guard let route = exchange.facts.route, !route.rules.isEmpty else { return .proceed }
        switch exchange.budget {
        case .unspent:
            let subject = exchange.windowSubject(route)
            for rule in route.rules { exchange.charge.add(rule, for: subject) }
            let token = waiting.insert(exchange)
            exchange.budgetSent()
            if worker.state.windows.spend(exchange.charge, receiver: self, token: token) { return .wait }
            _ = waiting.remove(token)
            exchange.budgetAnswered(.unavailable)
            return budgetLost(exchange)
        case .spending:
            return .wait
        case .answered(nil):
            return judgeBudget(exchange, route)
        case .answered:
            return budgetLost(exchange)
        }
    }

    /// Redis counted the windows of a request, or says why not.
    func windowsAnswered(_ charge: WindowCharge, failure: StoreError?, token: Int) {
        guard let exchange = waiting.remove(token), exchange.charge === charge else { return }
        exchange.budgetAnswered(failure)
        guard exchange.stage == .judging else { return }
        advance(exchange)
    }

    private func judgeBudget(_ exchange: Exchange, _ route: Route) -> Step {
        let charge = exchange.charge
        exchange.facts.hasBudget = true
        if worker.snapshot.settings.state.windowsOnLoss == .estimate { worker.estimates.learn(charge) }
        if charge.isRefusedInShadow { worker.metrics.budgetShadow.increment() }
        guard charge.isAdmitted else {
            worker.metrics.budgetLimited.increment()
            let name = charge.refusingRule?.name ?? ""
            let refusal = Refusal(
                .rateLimited,
                reason: name,
                appID: exchange.facts.app?.appID,
                nextSteps: ["Wait for Retry-After, or raise the limit \(name) of route \(route.settings.name)."],
                retryAfter: charge.retryAfter
            )
            return refuse(exchange, refusal, extra: exchange.budgetFields)
        }
        worker.metrics.budgetAdmitted.increment()
        return .proceed
    }

    /// Redis did not count: what then is a setting (`state.on_loss.windows`, B15).
    private func budgetLost(_ exchange: Exchange) -> Step {
        worker.metrics.budgetUnavailable.increment()
        switch worker.snapshot.settings.state.windowsOnLoss {
        case .admit: return .proceed
        case .refuse: return refuse(exchange, .stateAway)
        case .estimate:
            guard !worker.estimates.admits(exchange.charge) else { return .proceed }
            return refuse(exchange, Refusal(.rateLimited, reason: "estimate", retryAfter: 1))
        }
    }
}

extension Exchange {
    /// Who and what the request is counted for.
    func windowSubject(_ route: Route) -> WindowSubject {
        WindowSubject(
            organization: facts.app?.organization.rawValue ?? "",
            app: facts.app?.recordID.rawValue ?? "",
            key: facts.admission?.keyID?.rawValue,
            person: facts.admission?.person,
            client: facts.client.network,
            route: route.settings.name
        )
    }

    /// `RateLimit` and `RateLimit-Policy` as fields of a local answer; empty before the windows were counted.
    var budgetFields: [HeaderField] {
        guard facts.hasBudget, let route = facts.route else { return [] }
        var state: [UInt8] = []
        RateLimitFields.appendState(of: charge, to: &state)
        guard !state.isEmpty else { return [] }
        return [
            HeaderField(name: "ratelimit", value: String(decoding: state, as: UTF8.self)),
            HeaderField(name: "ratelimit-policy", value: String(decoding: route.policyText, as: UTF8.self)),
        ]
    }
}

/// Exchanges whose windows are being spent, by a number that is never used twice.
@Reactor
struct WaitingExchanges {
    private var exchanges: [Int: Exchange] = [:]
    private var last = 0

    mutating func insert(_ exchange: Exchange) -> Int {
        last &+= 1
        exchanges[last] = exchange
        return last
    }

    mutating func remove(_ token: Int) -> Exchange? {
        exchanges.removeValue(forKey: token)
    }
}
