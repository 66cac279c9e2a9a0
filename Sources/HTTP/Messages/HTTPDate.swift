// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Buffers
import Encodings

/// Dates as HTTP writes them: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 5.6.7).
package enum HTTPDate {
    private static let weekdays: InlineArray<7, StaticString> = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months: InlineArray<12, StaticString> = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Appends the IMF-fixdate of `seconds` since 1970; times outside the years 1970 to 9999 are held at the border.
    package static func append(unixSeconds seconds: Int64, to buffer: inout ByteBuffer) {
        let seconds = Int(min(max(seconds, 0), 253_402_300_799))
        let days = seconds / 86_400
        let rest = seconds % 86_400
        let date = CivilDate(daysSince1970: Int64(days))
        buffer.append(weekdays[days % 7])
        buffer.append(", ")
        appendTwo(date.day, to: &buffer)
        buffer.append(0x20)
        buffer.append(months[date.month - 1])
        buffer.append(0x20)
        appendTwo(date.year / 100, to: &buffer)
        appendTwo(date.year % 100, to: &buffer)
        buffer.append(0x20)
        appendTwo(rest / 3600, to: &buffer)
        buffer.append(0x3a)
        appendTwo(rest / 60 % 60, to: &buffer)
        buffer.append(0x3a)
        appendTwo(rest % 60, to: &buffer)
        buffer.append(" GMT")
    }

    private static func appendTwo(_ value: Int, to buffer: inout ByteBuffer) {
        buffer.append(0x30 &+ UInt8(truncatingIfNeeded: value / 10))
        buffer.append(0x30 &+ UInt8(truncatingIfNeeded: value % 10))
    }
}
