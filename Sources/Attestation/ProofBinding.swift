// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Crypto

/// What a native proof is made over, so that it counts for one challenge, one app and one purpose.
package struct ProofBinding: Sendable, Hashable {
    /// What a proof may do.
    package enum Purpose: String, Sendable, Hashable {
        /// Ask for a code, sign in, open a guest session.
        case signIn = "sign-in"
        /// Register an App Attest key.
        case register
    }

    /// The text that both sides hash.
    package let text: String

    /// `<challenge>.<app id>.<purpose>` (OFF-021, OFF-022).
    package init(challenge: String, appID: String, purpose: Purpose) {
        text = "\(challenge).\(appID).\(purpose.rawValue)"
    }

    /// A nonce that is hashed as the string it is (APP-018).
    package init(nonce: String) {
        text = nonce
    }

    /// The UTF-8 of the text.
    package var bytes: [UInt8] {
        Array(text.utf8)
    }

    /// SHA-256 of the UTF-8: App Attest's `clientDataHash`.
    package var hash: Digest {
        SHA256.hash(bytes)
    }

    /// What an Android attestation challenge may be: the hash, or the text itself (OFF-041).
    package var androidChallenges: [[UInt8]] {
        [hash.bytes, bytes]
    }
}
