// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The text form of an API key: `sally_`, 12 characters of key id, 32 of secret, 6 of checksum; 56 bytes in all.
///
/// The checksum (CRC-32 in base 62) refuses a mistyped key before any look-up; the id finds its record; the secret (190
/// bits) is never kept, only its keyed hash.
package struct APIKeyText: Sendable {
    /// What every key begins with, for people and for secret scanners.
    package static let prefix = "sally_"
    package static let length = 56
    /// The 12 characters of the id as two words, most significant first.
    let idHigh: UInt64
    let idLow: UInt32

    /// Parses a presented key; nil when form or checksum is wrong. Allocates nothing.
    package init?(parsing key: Span<UInt8>) { return nil }

    /// The id that the key names.
    package var keyID: APIKeyID { APIKeyID(rawValue: "key_") }

    /// Makes a new key from 44 characters' worth of randomness: uniform bytes, as many as asked for.
    package static func mint(random: (Int) -> [UInt8]) -> (id: APIKeyID, text: String) {
        (APIKeyID(rawValue: "key_"), "")
    }
}

/// A key record made ready for comparing.
struct CompiledKey: Sendable {
    let id: APIKeyID
    let secret: CompiledSecret

    init?(_ record: APIKeyRecord) { return nil }

    func matches(_ text: APIKeyText) -> Bool { false }
}

/// A stored keyed hash made ready for comparing.
package struct CompiledSecret: Sendable, Equatable {
    package let pepper: String

    /// nil when the stored hash is not 64 lower-case hexadecimal digits.
    package init?(_ secret: HashedSecret) { return nil }
}
