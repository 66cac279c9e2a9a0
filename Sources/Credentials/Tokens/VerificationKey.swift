// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Crypto

/// One key that tokens may be verified with, and the only algorithms it is for.
package struct VerificationKey: Sendable {
    package enum Material: Sendable {
        case pair(PublicKey)
        case secret(SecretBytes)
    }

    /// nil for a key set whose keys have no ids.
    package let id: String?
    package let algorithms: [TokenAlgorithm]
    package let material: Material

    /// A public key; nil when it fits none of the algorithms.
    package init?(id: String?, publicKey: PublicKey, algorithms: [TokenAlgorithm]) {
        let fitting = algorithms.filter { $0.fits(publicKey.kind) }
        if fitting.isEmpty { return nil }
        self.id = id
        self.algorithms = fitting
        self.material = .pair(publicKey)
    }

    /// A shared secret, for HS256 only: an HMAC key is never a public key, and the other way round (RFC 8725 2.1).
    package init(id: String?, secret: SecretBytes) {
        self.id = id
        self.algorithms = [.hs256]
        self.material = .secret(secret)
    }

    /// Whether it is the same key, for the same algorithms and under the same id.
    func isEqual(to other: VerificationKey) -> Bool {
        guard id == other.id, algorithms == other.algorithms else { return false }
        switch (material, other.material) {
        case (.pair(let one), .pair(let two)): return one.spki == two.spki
        case (.secret(let one), .secret(let two)): return two.withBytes { one.equals($0) }
        case (.pair, .secret), (.secret, .pair): return false
        }
    }

    /// Whether the token's signature is of this key.
    func verifies(_ token: JOSEToken) -> Bool {
        guard algorithms.contains(token.algorithm) else { return false }
        switch material {
        case .secret(let secret):
            guard token.algorithm == .hs256, let code = Digest(token.signature) else { return false }
            return HMACSHA256(key: secret).code(for: token.signingInput) == code
        case .pair(let key):
            guard let signature = token.algorithm.signature else { return false }
            return key.verifies(rawSignature: token.signature, of: token.signingInput, signature)
        }
    }
}

/// The keys of one issuer.
package struct VerificationKeySet: Sendable {
    package let keys: [VerificationKey]

    package init(_ keys: [VerificationKey]) {
        self.keys = keys
    }

    /// Whether every key of `other` is here too.
    package func includes(_ other: VerificationKeySet) -> Bool {
        // Most often they come in the same order, some before or behind them.
        var expected = 0
        return other.keys.allSatisfy { key in
            if expected < keys.count, keys[expected].isEqual(to: key) {
                expected += 1
                return true
            }
            guard let place = keys.firstIndex(where: { $0.isEqual(to: key) }) else { return false }
            expected = place + 1
            return true
        }
    }

    /// Checks the signature with the key that the token names; a token that names none may be of a set of one.
    ///
    /// Never tries key after key: that would multiply the work of a forged token.
    func check(_ token: JOSEToken) throws(TokenFault) {
        let fitting = keys.filter { $0.algorithms.contains(token.algorithm) }
        let key: VerificationKey
        if let id = token.keyID {
            let named = fitting.filter { $0.id == id }
            // A shared secret and a set of one key without an id take whatever id the issuer writes.
            guard let found = named.first ?? (fitting.count == 1 && fitting[0].id == nil ? fitting[0] : nil),
                named.count <= 1
            else { throw .unknownKey }
            key = found
        } else {
            guard fitting.count == 1 else { throw .unknownKey }
            key = fitting[0]
        }
        guard key.verifies(token) else { throw .badSignature }
    }
}
