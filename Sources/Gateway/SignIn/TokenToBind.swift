// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Store

/// A token of a sign-in's answer, and what it is bound to.
struct TokenToBind: Sendable {
    let text: String
    let use: BoundTokenUse
    let session: BoundSession
}

extension SignInAttempt {
    /// Whether tokens in the answer are bound, because the gateway could not read them later.
    var binds: Bool {
        endpoint.yieldsToken && (settings.tokens == .opaque || settings.refresh != nil)
    }

    /// Whether the answer is read before the client gets it.
    var readsAnswer: Bool {
        guard let grant, grant.verdict != nil else { return false }
        return grant.isTold || binds
    }

    /// The tokens of an answer that have to be bound; nil: one of them cannot be.
    func tokensToBind(in splice: AnswerSplice, _ grant: SignInGrant, now: Int64) -> [TokenToBind]? {
        guard binds, let trust = grant.verdict?.trust else { return [] }
        var tokens: [TokenToBind] = []
        var isTooLong = false
        func add(_ name: String, _ use: BoundTokenUse, _ life: Duration) {
            guard let text = splice.text(of: name) else { return }
            guard text.utf8.count <= SessionBindings.mostBytes else {
                isTooLong = true
                return
            }
            let session = BoundSession(
                app: grant.app.recordID,
                trust: trust,
                issuedAt: grant.signedInAt,
                expiresAt: now + life.components.seconds * 1_000
            )
            tokens.append(TokenToBind(text: text, use: use, session: session))
        }
        if settings.tokens == .opaque { add("token", .session, settings.sessionLife) }
        if settings.refresh != nil { add("refresh_token", .refresh, settings.refreshLife) }
        return isTooLong ? nil : tokens
    }
}
