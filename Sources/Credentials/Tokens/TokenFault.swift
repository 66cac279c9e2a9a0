// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why a token is no good; for logs and metrics, never told to the caller (only expiry is).
@usableFromInline
package enum TokenFault: String, Error, Sendable, Equatable, CaseIterable {
    /// Not three segments of canonical base64url, or not JSON as strict as ours.
    case malformed
    case tooLong = "too_long"
    /// A header member that would change how the token is read or where its key comes from.
    case forbiddenHeader = "forbidden_header"
    case wrongType = "wrong_type"
    case wrongAlgorithm = "wrong_algorithm"
    case unknownKey = "unknown_key"
    case badSignature = "bad_signature"
    case wrongIssuer = "wrong_issuer"
    case wrongAudience = "wrong_audience"
    case wrongKind = "wrong_kind"
    /// A claim that is missing or of the wrong type.
    case badClaims = "bad_claims"
    case expired
    case notYetValid = "not_yet_valid"
    /// Lives longer than tokens of its kind may.
    case tooLongLived = "too_long_lived"
    case revoked
}
