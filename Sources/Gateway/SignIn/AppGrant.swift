// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Crypto
import Store

/// What an app proved, and so what its token may say.
struct AppGrant: Sendable {
    let kind: CredentialKind
    let authentication: AppAuthentication
    let trust: Trust?
    /// nil: by secret, which leaves no `attest` claim (APP-063).
    let attest: AttestClaim?
    let counted: SignInMethod

    /// An app that knows its secret.
    static let secret = AppGrant(kind: .serverToken, authentication: .secret, trust: nil, attest: nil, counted: .secret)

    /// An app that proved nothing of a device: a page, or a debug build.
    init(
        kind: CredentialKind,
        authentication: AppAuthentication,
        method: String,
        platform: String,
        counted: SignInMethod
    ) {
        self.init(
            kind: kind,
            authentication: authentication,
            trust: nil,
            attest: AttestClaim(platform: platform, method: method),
            counted: counted
        )
    }

    /// An app on a device that proved it.
    init(
        kind: CredentialKind,
        trust: Trust,
        method: String,
        platform: String,
        keyID: String? = nil,
        counted: SignInMethod
    ) {
        self.init(
            kind: kind,
            authentication: trust == .development ? .development : .attestation,
            trust: trust,
            attest: AttestClaim(platform: platform, method: method, keyID: keyID),
            counted: counted
        )
    }

    private init(
        kind: CredentialKind,
        authentication: AppAuthentication,
        trust: Trust?,
        attest: AttestClaim?,
        counted: SignInMethod
    ) {
        self.kind = kind
        self.authentication = authentication
        self.trust = trust
        self.attest = attest
        self.counted = counted
    }
}

/// A token of ours and the whole seconds that it lives.
struct MintedToken: Sendable {
    let text: String
    let seconds: Int
}

extension SignInService {
    /// A token of ours for an app; throws while there is no key that signs.
    func token(
        _ grant: AppGrant,
        for app: App,
        in dialect: Dialect
    ) async throws(SignInFailure) -> MintedToken {
        guard let signer = state.tokens.signer(now: state.clock.now) else { throw .away }
        let issuedAt = state.clock.stamp / 1_000 * 1_000
        let seconds = state.tokens.appLife.components.seconds
        let token = OwnToken(
            kind: grant.kind,
            tokenID: NewNames.tokenID(),
            organization: app.organization,
            app: app.recordID,
            appID: app.appID,
            dialect: dialect,
            authentication: grant.authentication,
            trust: grant.trust,
            username: dialect == .appengine ? app.username : nil,
            attest: grant.attest,
            issuedAt: issuedAt,
            expiresAt: issuedAt + seconds * 1_000
        )
        do {
            return MintedToken(text: try signer.sign(token), seconds: Int(seconds))
        } catch {
            throw .away
        }
    }
}
