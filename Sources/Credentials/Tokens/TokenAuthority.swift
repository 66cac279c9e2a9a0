// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// Which field a token came in: app tokens in `Authorization`, persons in `x-client-authorization`, never crosswise.
package enum TokenUse: Sendable, CaseIterable {
    case application, person

    /// The kinds that may come in the field.
    package var kinds: CredentialKinds {
        switch self {
        case .application:
            CredentialKinds([.appToken, .webToken, .serverToken, .debugToken, .sessionToken])
        case .person: CredentialKinds([.person])
        }
    }
}

/// Everything that may vouch for a token: our own keys and the outside issuers with theirs; an immutable snapshot.
package final class TokenAuthority: Sendable {
    private let own: OwnTokenVerifier?
    private let issuers: [(issuer: OutsideIssuer, keys: VerificationKeySet)]
    private let leeway: Int64

    /// An issuer whose keys were never fetched has an empty set: its tokens are refused, nobody else's.
    ///
    /// `leeway`: what the clocks of outside issuers may differ by, in milliseconds.
    package init(
        own: OwnTokenVerifier?,
        issuers: [(issuer: OutsideIssuer, keys: VerificationKeySet)],
        leeway: Int64 = TokenTimes.leeway
    ) {
        self.own = own
        self.issuers = issuers
        self.leeway = leeway
    }

    /// Verifies a token's text.
    ///
    /// Costs a signature check: cache it, and cap how many run in a turn of the loop.
    package func verify(
        _ text: Span<UInt8>,
        as use: TokenUse,
        now: Int64
    ) throws(TokenFault) -> TokenFacts {
        let token = try JOSEToken(parsing: text)
        if let own, own.claims(token) {
            return try own.verify(token, kinds: use.kinds, now: now).facts(signedBy: token.keyID)
        }
        guard let (issuer, keys) = issuer(of: token, use) else { throw .wrongIssuer }
        return try issuer.verify(token, keys: keys, now: now, leeway: leeway)
    }

    /// The name of the issuer whose key set lacks the token's key: a reason to fetch it anew.
    package func issuerMissingKey(of text: Span<UInt8>, as use: TokenUse) -> String? {
        guard case .success(let token) = Result(catching: { () throws(TokenFault) in try JOSEToken(parsing: text) }),
            let (issuer, keys) = issuer(of: token, use), issuer.algorithms.contains(token.algorithm),
            let id = token.keyID, !keys.keys.contains(where: { $0.id == id })
        else { return nil }
        return issuer.name
    }

    private func issuer(
        of token: JOSEToken,
        _ use: TokenUse
    ) -> (issuer: OutsideIssuer, keys: VerificationKeySet)? {
        guard let name = token.payload["iss"]?.string else { return nil }
        return issuers.first { $0.issuer.issuer == name && use.kinds.contains($0.issuer.kind.credential) }
    }
}

/// The token inside an authorization field.
package enum BearerField {
    /// The bytes after `Bearer` and its spaces, in any case (RFC 9110 11.4: one space or more); nil for another scheme or
    /// no token.
    package static func token(authorization value: Span<UInt8>) -> TokenRange? {
        guard startsWithScheme(value) else { return nil }
        return TokenRange(value, from: afterSpaces(value))
    }

    /// The same, of a field off the hot path.
    package static func token(authorization text: String) -> String? {
        guard let place = token(authorization: text.utf8.span) else { return nil }
        return String(decoding: Array(text.utf8)[place.range], as: UTF8.self)
    }

    /// The same, or the bare token: `x-client-authorization` is taken with and without the scheme (APP-066).
    package static func token(clientAuthorization value: Span<UInt8>) -> TokenRange? {
        startsWithScheme(value) ? TokenRange(value, from: afterSpaces(value)) : TokenRange(value, from: 0)
    }

    /// Whether the field is of the bearer scheme, be its token well formed or not.
    package static func startsWithScheme(authorization value: Span<UInt8>) -> Bool {
        startsWithScheme(value) || (value.count == 6 && isScheme(value))
    }

    private static func afterSpaces(_ value: Span<UInt8>) -> Int {
        var index = 7
        while index < value.count, value[index] == UInt8(ascii: " ") { index += 1 }
        return index
    }

    private static func startsWithScheme(_ value: Span<UInt8>) -> Bool {
        value.count >= 7 && value[6] == UInt8(ascii: " ") && isScheme(value)
    }

    private static func isScheme(_ value: Span<UInt8>) -> Bool {
        let scheme = "bearer".utf8.span
        for index in 0..<6 where value[index] | 0x20 != scheme[index] { return false }
        return true
    }
}

/// Where the token is inside a field's value; a range, so that it outlives the look at the field.
package struct TokenRange: Sendable, Equatable {
    package let range: Range<Int>

    /// nil when nothing is left, or what is left is more than one word.
    init?(_ value: Span<UInt8>, from start: Int) {
        guard start < value.count else { return nil }
        for index in start..<value.count where value[index] <= 0x20 || value[index] >= 0x7f { return nil }
        range = start..<value.count
    }
}
