// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension DERElement {
    /// The bytes of an INTEGER or ENUMERATED in two's complement, in the shortest form.
    package func integerBytes() throws(DERError) -> ArraySlice<UInt8> {
        guard tag == .integer || tag == .enumerated else { throw .unexpectedElement }
        let bytes = buffer[contents]
        guard let first = bytes.first else { throw .illegalValue }
        if bytes.count > 1 {
            let second = bytes[bytes.startIndex + 1]
            // X.690 8.3.2: the first nine bits are neither all zero nor all one.
            guard !(first == 0 && second < 128), !(first == 255 && second >= 128) else { throw .illegalValue }
        }
        return bytes
    }

    /// The value of an INTEGER or ENUMERATED that is small.
    package func integer() throws(DERError) -> Int {
        let bytes = try integerBytes()
        guard bytes.count <= 8, let first = bytes.first else { throw .illegalValue }
        var value: Int = first >= 128 ? -1 : 0
        for byte in bytes { value = value << 8 | Int(byte) }
        return value
    }

    /// The magnitude of an INTEGER that must not be negative, without a sign byte.
    package func magnitude() throws(DERError) -> ArraySlice<UInt8> {
        let bytes = try integerBytes()
        guard let first = bytes.first, first < 128 else { throw .illegalValue }
        return first == 0 && bytes.count > 1 ? bytes.dropFirst() : bytes
    }

    /// The value of a BOOLEAN; any non-zero byte is true, because a real phone writes 0x01.
    package func booleanTolerant() throws(DERError) -> Bool {
        guard tag == .boolean, contents.count == 1 else { throw .illegalValue }
        return buffer[contents.lowerBound] != 0
    }

    /// The bytes of a BIT STRING that has no unused bits.
    package func wholeBits() throws(DERError) -> Range<Int> {
        guard tag == .bitString, let first = buffer[contents].first, first == 0 else { throw .illegalValue }
        return (contents.lowerBound + 1)..<contents.upperBound
    }

    /// The value of an OBJECT IDENTIFIER whose components are complete and in their shortest form (X.690 8.19.2).
    package func identifier() throws(DERError) -> OID {
        let bytes = buffer[contents]
        guard tag == .objectIdentifier, let last = bytes.last, last < 128 else { throw .illegalValue }
        var isStart = true
        for byte in bytes {
            guard !isStart || byte != 0x80 else { throw .illegalValue }
            isStart = byte < 128
        }
        return OID(contents: Array(bytes))
    }

    /// Whether this is an OBJECT IDENTIFIER of these contents.
    package func identifies(_ identifier: OID) -> Bool {
        tag == .objectIdentifier && buffer[contents].elementsEqual(identifier.contents)
    }

    /// The seconds since 1970 of a UTCTime or GeneralizedTime in the form of RFC 5280.
    package func seconds() throws(DERError) -> Int64 {
        let text = buffer[contents]
        let yearDigits: Int
        switch tag {
        case .utcTime: yearDigits = 2
        case .generalizedTime: yearDigits = 4
        default: throw .unexpectedElement
        }
        guard text.count == yearDigits + 11, text.last == UInt8(ascii: "Z") else { throw .illegalValue }
        var digits: [Int] = []
        for byte in text.dropLast() {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { throw .illegalValue }
            digits.append(Int(byte - UInt8(ascii: "0")))
        }
        func number(_ start: Int, _ length: Int) -> Int {
            digits[start..<(start + length)].reduce(0) { $0 * 10 + $1 }
        }
        var year = number(0, yearDigits)
        if yearDigits == 2 { year += year >= 50 ? 1900 : 2000 }
        let rest = yearDigits
        let date = CivilDate(year: year, month: number(rest, 2), day: number(rest + 2, 2))
        let hour = number(rest + 4, 2)
        let minute = number(rest + 6, 2)
        let second = number(rest + 8, 2)
        guard date.isReal, hour < 24, minute < 60, second < 60 else { throw .illegalValue }
        return date.daysSince1970 * 86_400 + Int64(hour * 3_600 + minute * 60 + second)
    }
}

/// An OBJECT IDENTIFIER, kept as its encoded contents.
package struct OID: Hashable, Sendable {
    /// The base-128 contents.
    package let contents: [UInt8]

    /// The identifier of these components, the first two of which share a byte.
    package init(_ components: UInt...) {
        precondition(components.count >= 2, "an object identifier has two components at least")
        var contents: [UInt8] = []
        for component in [components[0] * 40 + components[1]] + components.dropFirst(2) {
            var groups = [UInt8(component & 127)]
            var rest = component >> 7
            while rest > 0 {
                groups.append(UInt8(rest & 127) | 128)
                rest >>= 7
            }
            contents += groups.reversed()
        }
        self.contents = contents
    }

    /// The identifier of these encoded contents.
    package init(contents: [UInt8]) {
        self.contents = contents
    }
}

/// A day of the Gregorian calendar, without any clock or time zone.
package struct CivilDate: Equatable, Sendable {
    /// The year.
    package let year: Int
    /// The month, from 1.
    package let month: Int
    /// The day of the month, from 1.
    package let day: Int

    /// A date of these parts, which need not be real.
    package init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// The date that is `days` days after 1970-01-01.
    package init(daysSince1970 days: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
        month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
        year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
    }

    /// Whether the calendar has this date.
    package var isReal: Bool {
        guard (1...12).contains(month), day >= 1, year >= 0, year <= 9_999 else { return false }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return day <= lengths[month - 1]
    }

    /// The days since 1970-01-01.
    package var daysSince1970: Int64 {
        let shiftedYear = Int64(month <= 2 ? year - 1 : year)
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let shiftedMonth = Int64((month + 9) % 12)
        let dayOfYear = (153 * shiftedMonth + 2) / 5 + Int64(day) - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
