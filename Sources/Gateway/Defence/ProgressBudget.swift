// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// How long a client may still take with a body, or with the reading of an answer.
///
/// Silence ends it after `timeouts.idle`. Steady trickling ends it too: `timeouts.patience` altogether, and a second
/// more for each `timeouts.least_rate` bytes that moved. Time in which we were the one to be waited for is not counted.
struct ProgressBudget {
    private var waited: UInt64 = 0
    private var moved: UInt64 = 0
    /// When the present wait began.
    private var since: MonotonicInstant?

    /// A new message.
    mutating func reset() {
        self = ProgressBudget()
    }

    /// It is the client's turn from now on; gives the deadline.
    mutating func wait(from now: MonotonicInstant, _ times: TimeoutSettings) -> MonotonicInstant {
        if since == nil { since = now }
        return deadline(now, times)
    }

    /// Bytes moved; gives the new deadline.
    mutating func progressed(_ bytes: Int, at now: MonotonicInstant, _ times: TimeoutSettings) -> MonotonicInstant {
        moved &+= UInt64(clamping: bytes)
        settle(now)
        since = now
        return deadline(now, times)
    }

    /// It is our turn.
    mutating func pause(at now: MonotonicInstant) {
        settle(now)
        since = nil
    }

    private mutating func settle(_ now: MonotonicInstant) {
        guard let since, now > since else { return }
        waited &+= now.nanoseconds &- since.nanoseconds
    }

    private func deadline(_ now: MonotonicInstant, _ times: TimeoutSettings) -> MonotonicInstant {
        let start = since ?? now
        let silence = start.advanced(by: times.idle)
        guard times.leastRate.bytes > 0 else { return silence }
        let (seconds, part) = moved.quotientAndRemainder(dividingBy: UInt64(times.leastRate.bytes))
        let granted =
            UInt64(clamping: times.patience.nanosecondsClamped)
            &+ min(seconds, 1 << 32) &* 1_000_000_000
            &+ part &* 1_000_000_000 / UInt64(times.leastRate.bytes)
        let left = granted > waited ? granted &- waited : 0
        return min(silence, start.advanced(by: .nanoseconds(Int64(clamping: left))))
    }
}
