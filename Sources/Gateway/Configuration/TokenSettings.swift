// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials

/// How our own tokens are made and others' are judged.
package struct TokenSettings: Sendable, Equatable {
    /// `iss` of our own tokens; the same on all nodes.
    package var issuer: String
    /// What new signing keys of app and session tokens are for.
    package var algorithm: SigningAlgorithm
    /// The life of a token that an app signed in for.
    package var appLife: Duration
    /// The life of a hand-off to an upstream.
    package var handOff: Duration
    /// What the clocks of outside issuers may differ by.
    package var leeway: Duration
}

/// What our own tokens are signed with.
package enum SigningAlgorithm: String, Sendable, CaseIterable {
    case es256 = "ES256"
    case edDSA = "EdDSA"

    /// The same among all algorithms.
    package var token: TokenAlgorithm {
        switch self {
        case .es256: .es256
        case .edDSA: .edDSA
        }
    }
}

extension Duration {
    /// Whole milliseconds, as clocks and tokens count.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds &* 1_000 &+ attoseconds / 1_000_000_000_000_000
    }
}
