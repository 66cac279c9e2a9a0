// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Crypto
import Encodings

/// The peppers that key the hashes of API keys, secrets, debug and run tokens: the newest one
/// mints, all of them verify.
///
/// Holds prepared computations, so it belongs to one loop; each worker makes its own from the shared keys.
package final class PepperRing {
    private struct Pepper {
        let id: String
        let computation: HMACSHA256
    }

    private var peppers: [Pepper]
    /// Names this set of peppers: what was verified under another one has to be verified again.
    private(set) var mark = UInt64.random(in: .min ... .max)

    /// The least length of a pepper: that of the hash's output.
    private static let minimumLength = 32

    /// Each pepper with its id, newest first.
    package init(_ keys: [(id: String, key: SecretBytes)]) throws(PepperProblem) {
        peppers = try Self.prepared(keys)
    }

    /// Takes other peppers in place of those held, or throws and keeps those.
    package func replace(_ keys: [(id: String, key: SecretBytes)]) throws(PepperProblem) {
        peppers = try Self.prepared(keys)
        mark = .random(in: .min ... .max)
    }

    private static func prepared(_ keys: [(id: String, key: SecretBytes)]) throws(PepperProblem) -> [Pepper] {
        if keys.isEmpty { throw .none }
        var peppers: [Pepper] = []
        for (id, key) in keys {
            if key.count < minimumLength { throw .short(id: id) }
            if peppers.contains(where: { $0.id == id }) { throw .duplicate(id: id) }
            peppers.append(Pepper(id: id, computation: HMACSHA256(key: key)))
        }
        return peppers
    }

    /// The id of the pepper that hashes.
    package var newest: String { peppers[0].id }

    /// The keyed hash of a secret under the newest pepper.
    package func hash(_ message: Span<UInt8>, _ purpose: SecretPurpose, createdAt: Int64) -> HashedSecret {
        // `init` refuses an empty ring.
        let newest = peppers[0]
        let code = newest.computation.code(for: purpose.label.utf8.span, message)
        return HashedSecret(pepper: newest.id, hash: Hex.encode(code.span), createdAt: createdAt)
    }

    /// The keyed hash of a message under every pepper, newest first: what a look-up by hash has to try.
    package func hashes(_ message: Span<UInt8>, _ purpose: SecretPurpose) -> [(pepper: String, hash: String)] {
        var hashes: [(pepper: String, hash: String)] = []
        for pepper in peppers {
            hashes.append((pepper.id, Hex.encode(pepper.computation.code(for: purpose.label.utf8.span, message).span)))
        }
        return hashes
    }

    /// Whether the message has this hash, compared in constant time; false when its pepper is not held.
    package func matches(_ secret: CompiledSecret, _ purpose: SecretPurpose, message: Span<UInt8>) -> Bool {
        for index in peppers.indices where peppers[index].id == secret.pepper {
            return peppers[index].computation.code(for: purpose.label.utf8.span, message) == secret.hash
        }
        return false
    }
}

/// What a hashed secret is for: the hash of one kind is worthless as another's.
package enum SecretPurpose: Sendable {
    case apiKey, appSecret, debugToken, runToken, vouchKey, sessionToken, refreshToken, adminToken

    /// Hashed before the message; the zero ends it, so no message can imitate another purpose.
    var label: String {
        switch self {
        case .apiKey: "api-key\0"
        case .appSecret: "app-secret\0"
        case .debugToken: "debug-token\0"
        case .runToken: "run-token\0"
        case .adminToken: "admin-token\0"
        case .vouchKey: "vouch-key\0"
        case .sessionToken: "session-token\0"
        case .refreshToken: "refresh-token\0"
        }
    }
}

/// Why a ring of peppers cannot be used.
package enum PepperProblem: Error, Equatable {
    case none, short(id: String), duplicate(id: String)
}
