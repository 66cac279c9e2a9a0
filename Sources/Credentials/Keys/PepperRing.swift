// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The peppers that key the hashes of API keys, secrets, debug and run tokens: the newest one mints, all of them verify.
package final class PepperRing: Sendable {
    /// Each pepper with its id, newest first; at least 32 bytes each.
    package init(_ peppers: [(id: String, key: [UInt8])]) throws(PepperProblem) {}

    /// The keyed hash of a secret under the newest pepper.
    package func hash(_ message: Span<UInt8>, createdAt: Int64) -> HashedSecret {
        HashedSecret(pepper: "", hash: "", createdAt: createdAt)
    }

    /// Whether the message has this hash, compared in constant time; false when its pepper is not held.
    package func matches(_ secret: CompiledSecret, message: Span<UInt8>) -> Bool { false }
}

/// Why a ring of peppers cannot be used.
package enum PepperProblem: Error, Equatable {
    case none, short(id: String), duplicate(id: String)
}
