// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// When a child that died is started again: at once, unless it keeps dying young.
///
/// Pure.
package struct RestartPolicy: Sendable {
    private var earlyDeaths = 0

    /// A child that lived this long was well; its death is an accident, not a habit.
    private static let wellAfter: Duration = .seconds(2)

    package init() {}

    /// How long to wait after so many starts in a row that failed for a reason that time alone does not mend: a file.
    package static func pause(afterFailedStarts count: Int) -> Duration {
        .seconds(min(60, 1 << min(count, 6)))
    }

    /// How long to wait with the start, after a child has lived for `life`.
    package mutating func died(after life: Duration) -> Duration {
        guard life < Self.wellAfter else {
            earlyDeaths = 0
            return .zero
        }
        earlyDeaths += 1
        switch earlyDeaths {
        // Two in a row may be two requests that trap; a client waits for neither.
        case ...2: return .zero
        case 3: return .milliseconds(100)
        case 4: return .milliseconds(500)
        case 5: return .seconds(1)
        case 6: return .seconds(2)
        default: return .seconds(5)
        }
    }
}
