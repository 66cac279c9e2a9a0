// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A guess of a window's state while the store is away: what it last said, less what was spent since, refilled evenly.
///
/// It errs by at most what the other processes admit meanwhile, so each takes only its `share`. Times are nanoseconds
/// of a monotonic clock.
package struct WindowEstimate: Sendable, Equatable {
    private let limit: Int
    private let windowNanoseconds: UInt64
    /// Units that may be spent, in billionths, so that a refill is never rounded away.
    private var credit: UInt64
    private var lastRefill: UInt64
    private let share: Int

    /// An estimate for `rule` where `share` processes count the same window.
    package init(rule: WindowRule, share: Int, at time: UInt64) {
        limit = rule.limit
        self.share = max(1, share)
        let (seconds, attoseconds) = rule.window.components
        windowNanoseconds = UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
        // Nothing is known: its share of the limit.
        credit = UInt64(limit) * Self.unit / UInt64(self.share)
        lastRefill = time
    }

    private static let unit: UInt64 = 1_000_000_000

    /// Notes what the store said about the window.
    package mutating func learned(remaining: Int, at time: UInt64) {
        credit = UInt64(max(0, min(remaining, limit))) * Self.unit / UInt64(share)
        lastRefill = time
    }

    /// Whether `cost` may be spent now; if so it is.
    package mutating func spend(_ cost: Int, at time: UInt64) -> Bool {
        refill(at: time)
        let price = UInt64(cost) * Self.unit
        guard credit >= price else { return false }
        credit -= price
        return true
    }

    private mutating func refill(at time: UInt64) {
        guard time > lastRefill else { return }
        let elapsed = min(time - lastRefill, windowNanoseconds)
        let (high, low) = (UInt64(limit) * Self.unit).multipliedFullWidth(by: elapsed)
        // elapsed <= window, so the quotient is at most the dividend's other factor and fits.
        let gained = windowNanoseconds.dividingFullWidth((high, low)).quotient / UInt64(share)
        credit = min(credit + gained, UInt64(limit) * Self.unit / UInt64(share))
        lastRefill = time
    }
}
