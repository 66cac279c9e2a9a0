// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// A key of dialect vouch as it is written: `pk_live_`, an id of 12, a secret of 32 and a checksum of 6, in base 62.
///
/// The checksum lets a mistyped key be refused before any look-up. A `pk_` key ships in apps and is no secret; a `sk_`
/// key manages, and is one. Test keys and live keys never stand in for each other (VCH-024).
package struct VouchKeyText: Sendable, Equatable {
    /// What the key is for.
    package let kind: VouchKeyKind
    /// Whether it is of the live kind.
    package let isLive: Bool
    /// The id that the registry finds it by.
    package let id: APIKeyID

    private static let idLength = 12
    private static let secretLength = 32
    private static let prefixLength = 8

    /// How long every key is.
    package static let length = prefixLength + idLength + secretLength + Base62.checksumLength

    /// Parses a presented key; nil when form or checksum is wrong.
    package init?(parsing text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == Self.length, let (kind, isLive) = Self.meaning(of: text.prefix(Self.prefixLength)),
            bytes[Self.prefixLength...].allSatisfy(Base62.isDigit)
        else { return nil }
        let checked = Self.length - Base62.checksumLength
        let checksum = Base62.checksum(of: bytes.span.extracting(0..<checked))
        guard bytes.span.extracting(checked..<Self.length).equals(checksum.span) else { return nil }
        self.kind = kind
        self.isLive = isLive
        let id = bytes[Self.prefixLength..<Self.prefixLength + Self.idLength]
        self.id = APIKeyID(rawValue: "key_" + String(decoding: id, as: UTF8.self))
    }

    /// Makes a new key; `random` gives as many uniform bytes as it is asked for.
    package static func mint(
        _ kind: VouchKeyKind,
        isLive: Bool,
        random: (Int) -> [UInt8]
    ) -> (id: APIKeyID, text: String) {
        var bytes = Array("\(kind.rawValue)_\(isLive ? "live" : "test")_".utf8)
        bytes += Base62.digits(idLength + secretLength, random: random)
        let checksum = Base62.checksum(of: bytes.span)
        bytes.append(contentsOf: checksum.span)
        let id = String(decoding: bytes[prefixLength..<prefixLength + idLength], as: UTF8.self)
        return (APIKeyID(rawValue: "key_" + id), String(decoding: bytes, as: UTF8.self))
    }

    private static func meaning(of prefix: Substring) -> (VouchKeyKind, isLive: Bool)? {
        switch prefix {
        case "pk_live_": (.sdk, true)
        case "pk_test_": (.sdk, false)
        case "sk_live_": (.management, true)
        case "sk_test_": (.management, false)
        default: nil
        }
    }
}

extension App {
    /// The record of a presented key of dialect vouch; nil where the app has no such key.
    package func vouchKey(_ text: String, _ parsed: VouchKeyText, with peppers: PepperRing) -> VouchKeyRecord? {
        guard let key = record.vouchKeys?.first(where: { $0.id == parsed.id }), key.kind == parsed.kind,
            key.isLive == parsed.isLive, let secret = CompiledSecret(key.secret),
            peppers.matches(secret, .vouchKey, message: text.utf8.span)
        else { return nil }
        return key
    }
}
