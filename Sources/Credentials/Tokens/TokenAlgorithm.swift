// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Crypto

/// A JOSE signature algorithm (RFC 7518, RFC 8037); there is no `none`.
package enum TokenAlgorithm: String, Sendable, CaseIterable, Codable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case ps256 = "PS256"
    case es256 = "ES256"
    case es384 = "ES384"
    case edDSA = "EdDSA"

    /// How it signs with a key pair; nil for the one that uses a shared secret.
    package var signature: SignatureAlgorithm? {
        switch self {
        case .hs256: nil
        case .rs256: .rsaPKCS1(.sha256)
        case .ps256: .rsaPSS(.sha256)
        case .es256: .ecdsa(.sha256)
        case .es384: .ecdsa(.sha384)
        case .edDSA: .ed25519
        }
    }

    /// Whether a key of this kind may be used with it: each curve has one hash, RSA has at least 2048 bits.
    package func fits(_ kind: KeyKind) -> Bool {
        switch (self, kind) {
        case (.es256, .p256), (.es384, .p384), (.edDSA, .ed25519): true
        case (.rs256, .rsa(let bits)), (.ps256, .rsa(let bits)): bits >= 2_048
        case (.hs256, _), (.rs256, _), (.ps256, _), (.es256, _), (.es384, _), (.edDSA, _): false
        }
    }
}
