// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import Limits
import Store
import Telemetry
import Transport

extension RequestPipeline: WindowReceiver {
    /// Asks whether there is budget left in every window.
    func spendBudget(_ exchange: Exchange) -> Step {
        guard let budget = exchange.budgetRules, !budget.rules.isEmpty else { return .proceed }
        switch exchange.budget {
        case .unspent:
            let subject = exchange.windowSubject
            for rule in budget.rules { exchange.charge.add(rule, for: subject) }
            let token = waiting.insert(exchange)
            exchange.budgetSent()
            if worker.state.windows.spend(exchange.charge, receiver: self, token: token) { return .wait }
            _ = waiting.remove(token)
            exchange.budgetAnswered(.unavailable)
            return budgetLost(exchange)
        case .spending:
            return .wait
        case .answered(nil):
            return judgeBudget(exchange)
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

    /// The state of the windows and the policy that they follow, as field lines.
    fileprivate func appendBudgetState(of charge: WindowCharge, policy: [UInt8], to buffer: inout ByteBuffer) {
        budgetState.removeAll(keepingCapacity: true)
        RateLimitFields.appendState(of: charge, to: &budgetState)
        if budgetState.isEmpty { return }
        buffer.append("ratelimit: ")
        buffer.append(contentsOf: budgetState)
        buffer.append("\r\nratelimit-policy: ")
        buffer.append(contentsOf: policy)
        buffer.append("\r\n")
    }

    private func judgeBudget(_ exchange: Exchange) -> Step {
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
                nextSteps: ["Wait for Retry-After, or raise the limit \(name) of \(exchange.placeText)."],
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
    var windowSubject: WindowSubject {
        WindowSubject(
            organization: facts.app?.organization.rawValue ?? "",
            app: facts.app?.recordID.rawValue ?? "",
            key: facts.admission?.keyID?.rawValue,
            person: facts.admission?.person,
            client: facts.client.network,
            route: facts.route?.settings.name ?? facts.local.map { "_\($0.endpoint.group.rawValue)" } ?? ""
        )
    }

    /// Appends `budgetFields` to an answer's head without making them first.
    func appendBudgetFields(to buffer: inout ByteBuffer) {
        guard facts.hasBudget, let budget = budgetRules else { return }
        worker.pipeline.appendBudgetState(of: charge, policy: budget.policyText, to: &buffer)
    }

    /// The windows that the request is counted in.
    var budgetRules: BudgetRules? {
        if let route = facts.route { return route.budget }
        guard facts.local?.endpoint.isLimited == true else { return nil }
        return facts.connection?.endpoints?.budget
    }

    /// The place of the configuration that the request was for, for people.
    fileprivate var placeText: String {
        facts.route.map { "route \($0.settings.name)" } ?? "the listener"
    }

    /// `RateLimit` and `RateLimit-Policy` as fields of a local answer; empty before the windows were counted.
    var budgetFields: [HeaderField] {
        guard facts.hasBudget, let budget = budgetRules else { return [] }
        var state: [UInt8] = []
        RateLimitFields.appendState(of: charge, to: &state)
        guard !state.isEmpty else { return [] }
        return [
            HeaderField(name: "ratelimit", value: String(decoding: state, as: UTF8.self)),
            HeaderField(name: "ratelimit-policy", value: String(decoding: budget.policyText, as: UTF8.self)),
        ]
    }
}

/// The windows of a route or of a listener, compiled.
struct BudgetRules: Sendable {
    let rules: [WindowRule]
    /// The value of `RateLimit-Policy`.
    let policyText: [UInt8]

    init(_ rules: [WindowRule]) {
        self.rules = rules
        var policy: [UInt8] = []
        RateLimitFields.appendPolicy(of: rules, to: &policy)
        policyText = policy
    }
}

/// Exchanges whose windows are being spent, by a number that comes again after a billion uses of a place: the place,
/// and how often it was taken.
@Reactor
struct WaitingExchanges {
    private var exchanges: [(exchange: Exchange?, uses: UInt32)] = []
    private var free: [UInt32] = []

    mutating func insert(_ exchange: Exchange) -> Int {
        guard let place = free.popLast() else {
            exchanges.append((exchange, 0))
            return exchanges.count - 1
        }
        exchanges[Int(place)].exchange = exchange
        return Int(exchanges[Int(place)].uses) << 32 | Int(place)
    }

    mutating func remove(_ token: Int) -> Exchange? {
        let place = token & 0xffff_ffff
        guard exchanges.indices.contains(place), Int(exchanges[place].uses) == token >> 32,
            let exchange = exchanges[place].exchange
        else { return nil }
        exchanges[place] = (nil, (exchanges[place].uses &+ 1) & 0x3fff_ffff)
        free.append(UInt32(truncatingIfNeeded: place))
        return exchange
    }
}
