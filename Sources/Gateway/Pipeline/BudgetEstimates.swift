// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Limits
import Transport

/// What is remembered of windows for the time that Redis is away (`state.on_loss.windows: estimate`).
///
/// Isolated to the Reactor, one for each worker. Bounded: when it is full everything is forgotten, and a window that is
/// not known starts from this worker's share of its limit.
@Reactor
final class BudgetEstimates {
    private static let capacity = 16_384

    private let loop: EventLoop
    private let workers: Int
    private var estimates: [[UInt8]: WindowEstimate] = [:]

    init(loop: EventLoop, workers: Int) {
        self.loop = loop
        self.workers = workers
    }

    /// Redis has counted: what is left of each window is known.
    func learn(_ charge: WindowCharge) {
        for (index, key) in keys(of: charge).enumerated() {
            var estimate = known(key, charge.entries[index].rule)
            estimate.learned(remaining: charge.verdicts[index].remaining, at: loop.now.nanoseconds)
            estimates[key] = estimate
        }
    }

    /// Whether every window that may refuse still has room by our own guess; if so it is spent there.
    func admits(_ charge: WindowCharge) -> Bool {
        var spent: [([UInt8], WindowEstimate)] = []
        for (index, key) in keys(of: charge).enumerated() {
            let rule = charge.entries[index].rule
            var estimate = known(key, rule)
            guard estimate.spend(rule.cost, at: loop.now.nanoseconds) || rule.isShadow else { return false }
            spent.append((key, estimate))
        }
        for (key, estimate) in spent { estimates[key] = estimate }
        return true
    }

    private func known(_ key: [UInt8], _ rule: WindowRule) -> WindowEstimate {
        if let known = estimates[key] { return known }
        if estimates.count >= Self.capacity { estimates.removeAll(keepingCapacity: true) }
        return WindowEstimate(rule: rule, share: workers, at: loop.now.nanoseconds)
    }

    private func keys(of charge: WindowCharge) -> [[UInt8]] {
        var start = 0
        return charge.entries.map { entry in
            defer { start = entry.keyEnd }
            return Array(charge.keys[start..<entry.keyEnd])
        }
    }
}
