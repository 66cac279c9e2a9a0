// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
import Crypto

extension IssuerSettings {
    /// The issuer with its rules, as tokens are judged by it.
    package var outside: OutsideIssuer {
        OutsideIssuer(
            name: name,
            issuer: issuer,
            audiences: audiences,
            algorithms: algorithms,
            organizations: organizations,
            kind: kind,
            personClaim: personClaim,
            appClaim: appClaim,
            trustClaim: trustClaim
        )
    }

    /// Where its key set is fetched; nil for an issuer whose keys are here.
    package var keyAddress: String? {
        guard case .url(let url) = keys else { return nil }
        return url
    }

    /// Whether a fetched set is read for `other` as it is for this one.
    func hasSameKeys(as other: IssuerSettings) -> Bool {
        name == other.name && keyAddress == other.keyAddress && algorithms == other.algorithms
    }

    /// The keys that are here: of a file, or a shared secret; nil for an issuer whose keys are fetched.
    ///
    /// Blocks for the length of a small file; at start and reload only.
    package func localKeys() throws(KeySetProblem) -> VerificationKeySet? {
        switch keys {
        case .url: return nil
        case .secret(let secret):
            return VerificationKeySet([VerificationKey(id: nil, secret: SecretBytes(secret.bytes.span))])
        case .file(let path):
            guard case .success(let bytes) = Files.read(path, limit: JSONWebKeySet.maximumBytes) else {
                throw .malformed
            }
            return try JSONWebKeySet.parse(bytes, algorithms: algorithms)
        }
    }
}

/// An outside issuer with the keys it is known by now.
package typealias KnownIssuer = (issuer: OutsideIssuer, keys: VerificationKeySet)
