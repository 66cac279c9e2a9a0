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
