// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

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

    /// The 12 characters of a key's id as two words, first character highest.
    struct Name: Equatable {
        let high: UInt64
        let low: UInt32

        /// The name in a text that may be a key: its form and checksum have not been looked at.
        @inline(__always)
        init?(unchecked key: Span<UInt8>) {
            guard key.count == APIKeyText.length else { return nil }
            var high: UInt64 = 0
            for index in 6..<14 { high = high << 8 | UInt64(key[index]) }
            var low: UInt32 = 0
            for index in 14..<18 { low = low << 8 | UInt32(key[index]) }
            self.init(high: high, low: low)
        }

        init(high: UInt64, low: UInt32) {
            self.high = high
            self.low = low
        }
    }

    let name: Name

    /// Parses a presented key; nil when form or checksum is wrong; allocates nothing.
    package init?(parsing key: Span<UInt8>) {
        guard let name = Name(unchecked: key), key.starts(Self.prefix) else { return nil }
        guard Base62.areDigits(key.extracting(droppingFirst: Self.prefix.utf8.count)) else { return nil }
        let checksum = Base62.checksum(of: key.extracting(0..<Self.checkedLength))
        guard key.extracting(Self.checkedLength..<Self.length).equals(checksum.span) else { return nil }
        self.name = name
    }

    /// The words of a stored key id; nil when it is not `key_` and 12 letters or digits.
    init?(id: APIKeyID) {
        let bytes = Array(id.rawValue.utf8)
        guard bytes.count == 16, id.rawValue.hasPrefix("key_"), bytes[4...].allSatisfy(Base62.isDigit) else {
            return nil
        }
        name = Name(
            high: bytes[4..<12].reduce(0) { $0 << 8 | UInt64($1) },
            low: bytes[12...].reduce(0) { $0 << 8 | UInt32($1) }
        )
    }

    /// The id that the key names; off the hot path.
    package var keyID: APIKeyID {
        let bytes = idBytes
        return APIKeyID(rawValue: String(decoding: (0..<16).map { bytes[$0] }, as: UTF8.self))
    }

    /// The bytes of `keyID`.
    package var idBytes: InlineArray<16, UInt8> {
        var bytes: InlineArray<16, UInt8> = [0x6b, 0x65, 0x79, 0x5f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        for index in 0..<8 { bytes[4 + index] = UInt8(truncatingIfNeeded: name.high >> UInt64(56 - 8 * index)) }
        for index in 0..<4 { bytes[12 + index] = UInt8(truncatingIfNeeded: name.low >> UInt32(24 - 8 * index)) }
        return bytes
    }

    /// Makes a new key; `random` gives as many uniform bytes as it is asked for.
    package static func mint(random: (Int) -> [UInt8]) -> (id: APIKeyID, text: String) {
        var bytes = Array(prefix.utf8) + Base62.digits(checkedLength - prefix.utf8.count, random: random)
        let checksum = Base62.checksum(of: bytes.span)
        bytes.append(contentsOf: checksum.span)
        let id = String(decoding: bytes[idRange], as: UTF8.self)
        return (APIKeyID(rawValue: "key_" + id), String(decoding: bytes, as: UTF8.self))
    }
}
