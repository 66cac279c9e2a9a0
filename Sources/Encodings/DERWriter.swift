// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Builds DER from the inside out; for signatures, keys and certificates that we make ourselves.
package enum DERWriter {
    /// An element of `tag` around `contents`.
    package static func element(_ tag: DERTag, _ contents: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        let lead = tag.tagClass << 6 | (tag.isConstructed ? 32 : 0)
        if tag.number < 31 {
            bytes.append(lead | UInt8(tag.number))
        } else {
            bytes.append(lead | 31)
            var groups = [UInt8(tag.number & 127)]
            var rest = tag.number >> 7
            while rest > 0 {
                groups.append(UInt8(rest & 127) | 128)
                rest >>= 7
            }
            bytes += groups.reversed()
        }
        if contents.count < 128 {
            bytes.append(UInt8(contents.count))
        } else {
            let length = bigEndian(UInt64(contents.count))
            bytes.append(128 | UInt8(length.count))
            bytes += length
        }
        return bytes + contents
    }

    /// A SEQUENCE of elements.
    package static func sequence(_ elements: [UInt8]...) -> [UInt8] {
        element(.sequence, elements.flatMap { $0 })
    }

    /// A SET OF elements, sorted as DER asks.
    package static func set(_ elements: [[UInt8]]) -> [UInt8] {
        element(.set, elements.sorted { $0.lexicographicallyPrecedes($1) }.flatMap { $0 })
    }

    /// An INTEGER of a magnitude, big-endian; leading zeros are dropped and a sign byte added.
    package static func integer(magnitude: some Collection<UInt8>) -> [UInt8] {
        var bytes = Array(magnitude.drop { $0 == 0 })
        if bytes.isEmpty || bytes[0] >= 128 { bytes.insert(0, at: 0) }
        return element(.integer, bytes)
    }

    /// An INTEGER that is not negative.
    package static func integer(_ value: UInt64) -> [UInt8] {
        integer(magnitude: bigEndian(value))
    }

    /// An ENUMERATED value.
    package static func enumerated(_ value: UInt8) -> [UInt8] {
        element(.enumerated, [value])
    }

    /// An OCTET STRING.
    package static func octets(_ bytes: [UInt8]) -> [UInt8] {
        element(.octetString, bytes)
    }

    /// A BIT STRING of whole bytes.
    package static func bits(_ bytes: [UInt8]) -> [UInt8] {
        element(.bitString, [0] + bytes)
    }

    /// A BOOLEAN.
    package static func boolean(_ truth: Bool) -> [UInt8] {
        element(.boolean, [truth ? 255 : 0])
    }

    /// NULL.
    package static let null: [UInt8] = [5, 0]

    /// An OBJECT IDENTIFIER.
    package static func identifier(_ identifier: OID) -> [UInt8] {
        element(.objectIdentifier, identifier.contents)
    }

    /// `[number] EXPLICIT` around `element`.
    package static func explicit(_ number: Int, _ element: [UInt8]) -> [UInt8] {
        self.element(.explicit(number), element)
    }

    /// A Time by RFC 5280: UTCTime until 2049, GeneralizedTime after.
    package static func time(_ seconds: Int64) -> [UInt8] {
        var days = seconds / 86_400
        var rest = Int(seconds % 86_400)
        if rest < 0 {
            rest += 86_400
            days -= 1
        }
        let date = CivilDate(daysSince1970: days)
        let isShort = (1950..<2050).contains(date.year)
        let parts = [date.month, date.day, rest / 3_600, rest / 60 % 60, rest % 60]
        let text = padded(isShort ? date.year % 100 : date.year, isShort ? 2 : 4) + parts.flatMap { padded($0, 2) }
        return element(isShort ? .utcTime : .generalizedTime, text + [UInt8(ascii: "Z")])
    }

    private static func padded(_ value: Int, _ width: Int) -> [UInt8] {
        let digits = Array(String(value).utf8)
        return Array(repeating: UInt8(ascii: "0"), count: max(0, width - digits.count)) + digits
    }

    private static func bigEndian(_ value: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = value
        repeat {
            bytes.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        } while rest > 0
        return bytes
    }
}
