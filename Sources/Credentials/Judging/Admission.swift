// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A request that may pass: for whom, and on the strength of what.
package struct Admission: Sendable {
    package var app: App
    package var kind: CredentialKind
    /// The API key or token-signing id that vouched, safe to log.
    package var keyID: APIKeyID?
    /// Known for attested tokens only.
    package var trust: Trust?
    package var person: String?

    package init(app: App, kind: CredentialKind, keyID: APIKeyID? = nil, trust: Trust? = nil, person: String? = nil) {
        self.app = app
        self.kind = kind
        self.keyID = keyID
        self.trust = trust
        self.person = person
    }
}

/// The outcome of judging one request.
package enum Judgement: Sendable {
    /// The route is open: no app speaks.
    case open
    case admitted(Admission)
    /// Boxed, so that the others are small to hand on.
    indirect case refused(Refusal)
    /// Only the bearer token can still admit it: verify `Authorization`, then judge again with the evidence.
    case needsToken
}
