// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension ValueKind where Value == Duration {
    /// `250ms`, `30s`, `5m`, `1h`.
    static func duration(_ range: ClosedRange<Duration>) -> ValueKind {
        let expectation =
            "a duration from \(DurationText.write(range.lowerBound)) to \(DurationText.write(range.upperBound)), such as 250ms, 30s, 5m or 1h"
        return ValueKind(
            "duration",
            expectation,
            parse: { text in DurationText.parse(text).flatMap { range.contains($0) ? $0 : nil } },
            write: DurationText.write
        )
    }
}

extension ValueKind where Value == ByteCount {
    /// `64KiB`, `1MiB`, `2GiB`, or bytes as `512B`.
    static func byteCount(_ range: ClosedRange<ByteCount>) -> ValueKind {
        let expectation =
            "a size from \(ByteCountText.write(range.lowerBound)) to \(ByteCountText.write(range.upperBound)), such as 64KiB or 1MiB"
        return ValueKind(
            "size",
            expectation,
            parse: { text in ByteCountText.parse(text).flatMap { range.contains($0) ? $0 : nil } },
            write: ByteCountText.write
        )
    }
}

/// Durations as the file writes them: a whole number and a unit.
enum DurationText {
    private static let units: [(suffix: String, unit: Duration)] = [
        ("us", .microseconds(1)), ("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60)),
        ("h", .seconds(3_600)),
    ]

    static func parse(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let suffix = text[digits.endIndex...]
        guard (1...12).contains(digits.count), let number = Int64(digits),
            let unit = units.first(where: { $0.suffix == suffix })
        else { return nil }
        return unit.unit * number
    }

    /// In the largest unit that says it exactly; seconds up to ten minutes.
    static func write(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        if milliseconds >= 3_600_000, milliseconds % 3_600_000 == 0 { return "\(milliseconds / 3_600_000)h" }
        if milliseconds > 600_000, milliseconds % 60_000 == 0 { return "\(milliseconds / 60_000)m" }
        if milliseconds > 0, milliseconds % 1_000 == 0 { return "\(milliseconds / 1_000)s" }
        let microseconds = attoseconds % 1_000_000_000_000_000 / 1_000_000_000_000
        return seconds == 0 && microseconds > 0 ? "\(milliseconds * 1_000 + microseconds)us" : "\(milliseconds)ms"
    }
}

/// Sizes as the file writes them: a whole number and a binary unit.
enum ByteCountText {
    private static let units: [(suffix: String, shift: Int)] = [("B", 0), ("KiB", 10), ("MiB", 20), ("GiB", 30)]

    static func parse(_ text: String) -> ByteCount? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let suffix = text[digits.endIndex...]
        guard (1...9).contains(digits.count), let number = Int(digits),
            let unit = units.first(where: { $0.suffix == suffix })
        else { return nil }
        return ByteCount(bytes: number << unit.shift)
    }

    static func write(_ size: ByteCount) -> String {
        let unit = units.last { $0.shift == 0 || (size.bytes > 0 && size.bytes % (1 << $0.shift) == 0) } ?? units[0]
        return "\(size.bytes >> unit.shift)\(unit.suffix)"
    }
}
