// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Crypto
import Encodings

/// Signs our tokens with one key.
package struct TokenSigner: Sendable {
    package let keyID: String
    package let algorithm: TokenAlgorithm
    private let key: PrivateKey
    private let issuer: String

    /// nil when the key does not fit an algorithm that we sign with: ES256, or EdDSA by setting.
    package init?(key: PrivateKey, issuer: String) {
        switch key.kind {
        case .p256: algorithm = .es256
        case .ed25519: algorithm = .edDSA
        case .p384, .p521, .rsa: return nil
        }
        guard let id = JSONWebKeySet.thumbprint(key.publicKey) else { return nil }
        self.keyID = id
        self.key = key
        self.issuer = issuer
    }

    /// The compact form of a token.
    package func sign(_ token: OwnToken) throws(CryptoError) -> String {
        try sign(token.claims(issuer: issuer), type: OwnToken.type(of: token.kind))
    }

    /// The compact form of any claims, for the hand-off to upstreams.
    package func sign(_ claims: [UInt8], type: String) throws(CryptoError) -> String {
        // Every algorithm that `init` lets in signs with a key pair.
        guard let signature = algorithm.signature else { throw .algorithmMismatch }
        var header = JSONWriter(capacity: 128)
        header.beginObject()
        header.member("alg", algorithm.rawValue)
        header.member("typ", type)
        header.member("kid", keyID)
        header.endObject()
        let input = Base64.encodeURL(header.bytes) + "." + Base64.encodeURL(claims)
        let bytes = try key.rawSignature(of: Array(input.utf8), signature)
        return input + "." + Base64.encodeURL(bytes)
    }

    /// The key that verifies what this one signs.
    package var verificationKey: VerificationKey? {
        VerificationKey(id: keyID, publicKey: key.publicKey, algorithms: [algorithm])
    }
}
