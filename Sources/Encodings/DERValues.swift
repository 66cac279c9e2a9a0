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
