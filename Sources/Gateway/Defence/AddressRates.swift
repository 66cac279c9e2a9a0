// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Limits

/// One budget for each client network: how often something may be done in a row, and how often in the long run.
///
/// Time comes in as nanoseconds. The table is bounded: when it is full, the half that has most left is forgotten, which
/// gives those networks a whole budget again and keeps the worst in it.
struct AddressRates: ~Copyable {
    static let networks = 16_384

    private var wholeAt: [ClientNetwork: UInt64] = [:]

    /// Takes one from the budget of `network`; false when there is nothing left.
    mutating func spend(_ rate: FloodBudget, _ network: ClientNetwork, now: UInt64) -> Bool {
        var budget = rate
        budget.wholeAt = wholeAt[network] ?? 0
        guard budget.spend(now: now) else { return false }
        if wholeAt.count >= Self.networks { forget(now: now) }
        wholeAt[network] = budget.wholeAt
        return true
    }

    /// Whether something is left for `network`.
    func hasLeft(_ rate: FloodBudget, _ network: ClientNetwork, now: UInt64) -> Bool {
        var budget = rate
        budget.wholeAt = wholeAt[network] ?? 0
        return budget.spend(now: now)
    }

    /// Gives one back: what was paid for did not happen.
    mutating func refund(_ rate: FloodBudget, _ network: ClientNetwork) {
        guard let at = wholeAt[network] else { return }
        wholeAt[network] = at &- min(at, rate.interval)
    }

    /// How many networks are known.
    var count: Int { wholeAt.count }

    private mutating func forget(now: UInt64) {
        wholeAt = wholeAt.filter { $0.value > now }
        guard wholeAt.count >= Self.networks / 2 else { return }
        let median = wholeAt.values.sorted()[wholeAt.count / 2]
        wholeAt = wholeAt.filter { $0.value > median }
    }
}
