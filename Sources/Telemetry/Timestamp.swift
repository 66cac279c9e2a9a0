// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// A moment of the wall clock in milliseconds since 1970, UTC; text is `2026-09-17T11:18:57.042Z`.
package struct Timestamp: Sendable, Hashable, Comparable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The system's wall clock.
    package static func now() -> Timestamp {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return Timestamp(milliseconds: Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000)
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    package var text: String { render(withMilliseconds: true) }

    /// The text in whole seconds, `2026-09-17T11:18:57Z`.
    package var secondsText: String { render(withMilliseconds: false) }

    private func render(withMilliseconds: Bool) -> String {
        let seconds = milliseconds.quotientFlooring(1000)
        let days = seconds.quotientFlooring(86_400)
        let inDay = seconds - days * 86_400
        let (year, month, day) = Self.civil(days)
        let clock = "\(two(inDay / 3600)):\(two(inDay / 60 % 60)):\(two(inDay % 60))"
        let fraction = withMilliseconds ? "." + three(milliseconds - seconds * 1000) : ""
        return "\(four(year))-\(two(month))-\(two(day))T\(clock)\(fraction)Z"
    }

    /// The date of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
    ///
    /// Counts from 0000-03-01 in eras of 400 years (146,097 days), so that the leap day ends a year.
    package static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted.quotientFlooring(146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    private func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
    private func three(_ value: Int64) -> String { value < 100 ? "0\(two(value))" : "\(value)" }
    private func four(_ value: Int64) -> String { value < 1000 ? "0\(three(value))" : "\(value)" }
}

extension Int64 {
    fileprivate func quotientFlooring(_ divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}
