// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// The loop's time that checking signatures may take: a fifth, so that a flood of unknown
/// tokens leaves four for others.
///
/// Credit grows with the clock and is spent by what checks really took.
struct CheckBudget {
    /// One part of time in so many.
    static let share: UInt64 = 5
    /// What is saved up at most, and so about the longest that checks hold a turn up: one and a half milliseconds'
    /// credit, so that nothing is lost between two turns.
    static let burst: Int64 = 300_000

    private var credit = CheckBudget.burst
    private var updated = MonotonicInstant(nanoseconds: 0)

    /// Whether a check may begin at `now`.
    mutating func mayCheck(at now: MonotonicInstant) -> Bool {
        let elapsed = now.nanoseconds &- min(updated.nanoseconds, now.nanoseconds)
        updated = now
        credit = min(Self.burst, credit &+ Int64(truncatingIfNeeded: min(elapsed, 1 << 40) / Self.share))
        return credit > 0
    }

    /// A check took from `start` to `end`.
    mutating func spent(from start: MonotonicInstant, to end: MonotonicInstant) {
        guard end > start else { return }
        credit &-= Int64(truncatingIfNeeded: min(end.nanoseconds &- start.nanoseconds, 1 << 40))
    }
}
