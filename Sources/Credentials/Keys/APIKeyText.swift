// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The text form of an API key: `sally_`, 12 characters of key id, 32 of secret, 6 of checksum; 56 bytes in all.
///
/// The checksum (CRC-32 in base 62) refuses a mistyped key before any look-up; the id finds its record; the secret (190
/// bits) is never kept, only its keyed hash.
package struct APIKeyText: Sendable, Equatable {
    /// What every key begins with, for people and for secret scanners.
    package static let prefix = "sally_"
    package static let length = 56
    private static let idRange = 6..<18
    private static let checkedLength = 50

    /// The 12 characters of the id as two words, most significant first.
    let idHigh: UInt64
    let idLow: UInt32

    /// Parses a presented key; nil when form or checksum is wrong; allocates nothing.
    package init?(parsing key: Span<UInt8>) {
        guard key.count == Self.length, key.starts(Self.prefix) else { return nil }
        var high: UInt64 = 0
        var low: UInt32 = 0
        for index in Self.prefix.utf8.count..<Self.length {
            guard Base62.isDigit(key[index]) else { return nil }
            guard Self.idRange.contains(index) else { continue }
            if index < Self.idRange.lowerBound + 8 {
                high = high << 8 | UInt64(key[index])
            } else {
                low = low << 8 | UInt32(key[index])
            }
        }
        var sum = CRC32.checksum(of: key.extracting(0..<Self.checkedLength))
        for index in stride(from: Self.length - 1, through: Self.checkedLength, by: -1) {
            guard key[index] == Base62.digit(Int(sum % 62)) else { return nil }
            sum /= 62
        }
        idHigh = high
        idLow = low
    }

    /// The words of a stored key id; nil when it is not `key_` and 12 letters or digits.
    init?(id: APIKeyID) {
        let bytes = Array(id.rawValue.utf8)
        guard bytes.count == 16, id.rawValue.hasPrefix("key_"), bytes[4...].allSatisfy(Base62.isDigit) else {
            return nil
        }
        idHigh = bytes[4..<12].reduce(0) { $0 << 8 | UInt64($1) }
        idLow = bytes[12...].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The id that the key names; off the hot path.
    package var keyID: APIKeyID {
        var bytes = Array("key_".utf8)
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: idHigh >> shift)) }
        for shift in stride(from: 24, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: idLow >> shift)) }
        return APIKeyID(rawValue: String(decoding: bytes, as: UTF8.self))
    }

    /// Makes a new key; `random` gives as many uniform bytes as it is asked for.
    package static func mint<Failure: Error>(
        random: (Int) throws(Failure) -> [UInt8]
    ) throws(Failure) -> (id: APIKeyID, text: String) {
        var bytes = Array(prefix.utf8)
        while bytes.count < checkedLength {
            // 248 = 4 * 62: bytes above it would favour the first digits.
            for byte in try random(checkedLength) where byte < 248 && bytes.count < checkedLength {
                bytes.append(Base62.digit(Int(byte % 62)))
            }
        }
        var sum = CRC32.checksum(of: bytes.span)
        var check: [UInt8] = []
        for _ in checkedLength..<length {
            check.append(Base62.digit(Int(sum % 62)))
            sum /= 62
        }
        let id = String(decoding: bytes[idRange], as: UTF8.self)
        return (APIKeyID(rawValue: "key_" + id), String(decoding: bytes + check.reversed(), as: UTF8.self))
    }
}

/// The digits 0-9, A-Z, a-z.
enum Base62 {
    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    static func digit(_ value: Int) -> UInt8 {
        switch value {
        case ..<10: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value)
        case ..<36: UInt8(ascii: "A") + UInt8(truncatingIfNeeded: value - 10)
        default: UInt8(ascii: "a") + UInt8(truncatingIfNeeded: value - 36)
        }
    }
}
