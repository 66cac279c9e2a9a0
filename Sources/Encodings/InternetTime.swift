// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Points in time as RFC 3339 writes them in UTC, without any clock or time zone.
package enum InternetTime {
    /// The milliseconds since 1970 of `YYYY-MM-DDTHH:MM:SS[.fff]Z`, or nil if the text is anything else.
    package static func milliseconds(of text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 30, bytes.last == UInt8(ascii: "Z") else { return nil }
        let marks: [(Int, UInt8)] = [
            (4, UInt8(ascii: "-")), (7, UInt8(ascii: "-")), (10, UInt8(ascii: "T")), (13, UInt8(ascii: ":")),
            (16, UInt8(ascii: ":")),
        ]
        guard marks.allSatisfy({ bytes[$0.0] == $0.1 }) else { return nil }
        guard let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10]),
            let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            let fraction = fraction(bytes[19..<(bytes.count - 1)])
        else { return nil }
        let date = CivilDate(year: year, month: month, day: day)
        guard date.isReal, hour < 24, minute < 60, second < 60 else { return nil }
        return (date.daysSince1970 * 86_400 + Int64(hour * 3_600 + minute * 60 + second)) * 1_000 + Int64(fraction)
    }

    /// `YYYY-MM-DDTHH:MM:SS.fffZ` of `milliseconds` since 1970.
    package static func text(milliseconds: Int64) -> String {
        text(
            seconds: floorDivide(milliseconds, 1_000),
            fraction: "." + padded(Int(floorModulo(milliseconds, 1_000)), 3)
        )
    }

    /// `YYYY-MM-DDTHH:MM:SSZ` of `seconds` since 1970.
    package static func text(seconds: Int64) -> String {
        text(seconds: seconds, fraction: "")
    }

    private static func text(seconds: Int64, fraction: String) -> String {
        let date = CivilDate(daysSince1970: floorDivide(seconds, 86_400))
        let rest = Int(floorModulo(seconds, 86_400))
        let day = "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))"
        return "\(day)T\(padded(rest / 3_600, 2)):\(padded(rest / 60 % 60, 2)):\(padded(rest % 60, 2))\(fraction)Z"
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        var value = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return value
    }

    private static func fraction(_ text: ArraySlice<UInt8>) -> Int? {
        guard let first = text.first else { return 0 }
        guard first == UInt8(ascii: "."), text.count > 1, let value = number(text.dropFirst().prefix(3)),
            number(text.dropFirst()) != nil
        else { return nil }
        return [100, 10, 1][min(text.count - 2, 2)] * value
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    private static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
        (value - floorModulo(value, divisor)) / divisor
    }

    private static func floorModulo(_ value: Int64, _ divisor: Int64) -> Int64 {
        let rest = value % divisor
        return rest < 0 ? rest + divisor : rest
    }
}
