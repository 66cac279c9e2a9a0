// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Limits
import Store
import Transport

/// What is remembered of windows for the time that Redis is away (`state.on_loss.windows: estimate`).
///
/// Isolated to the Reactor, one for each worker. Bounded: when it is full everything is forgotten, and a window that is
/// not known starts from this worker's share of its limit.
///
/// Windows are known by keyed digests: should two ever meet, they share a guess.
@Reactor
final class BudgetEstimates {
    private static let capacity = 16_384

    private let loop: EventLoop
    private let workers: Int
    private let digest = NameDigest()
    private var estimates: [UInt64: WindowEstimate] = [:]

    init(loop: EventLoop, workers: Int) {
        self.loop = loop
        self.workers = workers
    }

    /// Redis has counted: what is left of each window is known.
    func learn(_ charge: WindowCharge) {
        let keys = charge.keys
        var start = 0
        for (index, entry) in charge.entries.enumerated() {
            let window = digest.of(keys.span.extracting(start..<entry.keyEnd))
            start = entry.keyEnd
            makeRoom()
            estimates[window, default: unknown(entry.rule)]
                .learned(remaining: charge.verdicts[index].remaining, at: loop.now.nanoseconds)
        }
    }

    /// Whether every window that may refuse still has room by our own guess; if so it is spent there.
    func admits(_ charge: WindowCharge) -> Bool {
        var spent: [(UInt64, WindowEstimate)] = []
        let keys = charge.keys
        var start = 0
        for entry in charge.entries {
            let window = digest.of(keys.span.extracting(start..<entry.keyEnd))
            start = entry.keyEnd
            var estimate = estimates[window] ?? unknown(entry.rule)
            guard estimate.spend(entry.rule.cost, at: loop.now.nanoseconds) || entry.rule.isShadow else { return false }
            spent.append((window, estimate))
        }
        for (window, estimate) in spent {
            makeRoom()
            estimates[window] = estimate
        }
        return true
    }

    private func unknown(_ rule: WindowRule) -> WindowEstimate {
        WindowEstimate(rule: rule, share: workers, at: loop.now.nanoseconds)
    }

    private func makeRoom() {
        if estimates.count >= Self.capacity { estimates.removeAll(keepingCapacity: true) }
    }
}
