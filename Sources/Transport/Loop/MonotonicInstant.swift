// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// A point on the boot-time clock, in nanoseconds; comparable only within one machine and one boot.
///
/// CLOCK_BOOTTIME, so that a lease does not outlive a suspended machine.
@usableFromInline
package struct MonotonicInstant: Comparable, Hashable, Sendable {
    /// Nanoseconds since boot.
    @usableFromInline package var nanoseconds: UInt64

    @inlinable
    package init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    /// Later than every other instant.
    @inlinable
    package static var distantFuture: MonotonicInstant { MonotonicInstant(nanoseconds: .max) }

    @inlinable
    package static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// This instant moved by `duration`; stays within the range of the clock.
    @inlinable
    package func advanced(by duration: Duration) -> MonotonicInstant {
        let step = duration.nanosecondsClamped
        guard step >= 0 else {
            return MonotonicInstant(nanoseconds: nanoseconds &- min(nanoseconds, step.magnitude))
        }
        let (sum, overflow) = nanoseconds.addingReportingOverflow(UInt64(step))
        return MonotonicInstant(nanoseconds: overflow ? .max : sum)
    }

    /// The time from `earlier` to this instant, negative where `earlier` is later.
    @inlinable
    package func duration(since earlier: MonotonicInstant) -> Duration {
        .nanoseconds(Int64(truncatingIfNeeded: nanoseconds &- earlier.nanoseconds))
    }

    /// Reads the clock; a system call's worth of work, so the loop does it once per turn.
    package static func readClock() -> MonotonicInstant {
        MonotonicInstant(nanoseconds: clockNanoseconds(CLOCK_BOOTTIME))
    }
}

extension Duration {
    /// The duration in whole nanoseconds, at the ends of Int64 where it does not fit.
    @inlinable
    package var nanosecondsClamped: Int64 {
        // Attoseconds are 128 bits wide; one division of the machine's does for every duration of practice.
        if _high >= 0, _high < 500_000_000 {
            let wide = (high: UInt64(truncatingIfNeeded: _high), low: _low)
            return Int64(truncatingIfNeeded: (1_000_000_000 as UInt64).dividingFullWidth(wide).quotient)
        }
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, carry) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carry ? (seconds < 0 ? .min : .max) : sum
    }
}

func clockNanoseconds(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return UInt64(truncatingIfNeeded: time.tv_sec) &* 1_000_000_000 &+ UInt64(truncatingIfNeeded: time.tv_nsec)
}
