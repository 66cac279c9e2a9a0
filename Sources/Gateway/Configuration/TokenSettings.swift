// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials

/// How our own tokens are made and others' are judged.
package struct TokenSettings: Sendable, Equatable {
    /// `iss` of our own tokens; the same on all nodes.
    package var issuer: String
    /// What new signing keys of app and session tokens are for.
    package var algorithm: SigningAlgorithm
    /// The life of a person's session (OFF-079).
    package var session: Duration
    /// The life of a run token (VCH-021).
    package var run: Duration
    /// The life of a hand-off to an upstream.
    package var handOff: Duration
    /// What the clocks of outside issuers may differ by.
    package var leeway: Duration

    /// The life of an app token: one hour, and no setting (APP-064).
    package static let app = Duration.seconds(3_600)

    /// How long a new token of a kind lives.
    package func life(of kind: CredentialKind) -> Duration {
        switch kind {
        case .sessionToken, .person: session
        case .runToken: run
        case .appToken, .webToken, .serverToken, .debugToken, .origin, .apiKey: Self.app
        }
    }
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
