// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why a cryptographic operation gave nothing; never says more about a secret than that it did not fit.
package enum CryptoError: Error, Equatable {
    /// Bytes that are no key of the form asked for.
    case malformedKey
    /// A key of a kind, curve or size that nothing here uses.
    case unsupportedKey
    /// Bytes that are no certificate.
    case malformedCertificate
    /// The algorithm does not go with the key.
    case algorithmMismatch
    /// A sealed text, wrapped key or tag that does not belong to this key.
    case authenticationFailed
    /// A length that the algorithm does not allow.
    case illegalLength
    /// The library gave no randomness.
    case randomnessFailed
    /// The library refused for another reason.
    case operationFailed
}
