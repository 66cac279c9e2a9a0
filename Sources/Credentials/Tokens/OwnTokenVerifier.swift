// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// Verifies tokens of ours: a fixed issuer, the keys of the ring, and each kind in its own place.
package struct OwnTokenVerifier: Sendable {
    private let issuer: String
    private let keys: VerificationKeySet

    package init(issuer: String, keys: VerificationKeySet) {
        self.issuer = issuer
        self.keys = keys
    }

    /// Whether a token claims to be ours; decided before any signature is checked.
    package func claims(_ token: JOSEToken) -> Bool {
        token.payload["iss"]?.string == issuer
    }

    /// The token's content, if it is one of `kinds` and everything about it holds at `now`.
    package func verify(
        _ token: JOSEToken,
        kinds: CredentialKinds,
        now: Int64
    ) throws(TokenFault) -> OwnToken {
        guard token.algorithm == .es256 || token.algorithm == .edDSA else { throw .wrongAlgorithm }
        // Ours always name their key.
        guard token.keyID != nil else { throw .unknownKey }
        try keys.check(token)
        let own = try OwnToken(
            reading: TokenClaims(object: token.payload),
            type: token.type,
            issuer: issuer,
            now: now
        )
        guard kinds.contains(own.kind) else { throw .wrongKind }
        return own
    }
}
