// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// A run token as it is written: `rt_`, then its app, 32 random bytes and a checksum in base64url.
///
/// The app's record id is public; that it stands in the token lets the token be found beside its app and nowhere else.
package struct RunTokenText: Sendable, Equatable {
    /// What every run token begins with.
    package static let prefix = "rt_"
    /// The app that it was made for.
    package let app: RecordID

    private static let appBytes = 12
    private static let randomBytes = 32
    private static let checkBytes = 4

    /// How long every run token is.
    package static let length = 3 + (appBytes + randomBytes + checkBytes) / 3 * 4

    /// Parses a presented token; nil when form or checksum is wrong.
    package init?(parsing token: [UInt8]) {
        guard token.count == Self.length, token.starts(with: Self.prefix.utf8) else { return nil }
        let bytes: [UInt8]
        do {
            let text = String(decoding: token[3...], as: UTF8.self)
            bytes = try Base64.decode(text, alphabet: .urlSafe, padding: .forbidden, limit: Self.length)
        } catch {
            return nil
        }
        guard bytes.count == Self.appBytes + Self.randomBytes + Self.checkBytes,
            Self.check(Array(bytes.dropLast(Self.checkBytes))) == Array(bytes.suffix(Self.checkBytes))
        else { return nil }
        app = RecordID(rawValue: Hex.encode(Array(bytes[..<Self.appBytes])))
    }

    /// A new token for `app`; nil where the record id or the randomness is not of its length.
    package static func make(for app: RecordID, random: [UInt8]) -> String? {
        do {
            let id = try Hex.decode(app.rawValue)
            guard id.count == appBytes, random.count == randomBytes else { return nil }
            let bytes = id + random
            return prefix + Base64.encodeURL(bytes + check(bytes))
        } catch {
            return nil
        }
    }

    private static func check(_ bytes: [UInt8]) -> [UInt8] {
        let sum = CRC32.checksum(of: bytes.span)
        return stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: sum >> UInt32($0)) }
    }
}
