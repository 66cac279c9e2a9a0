// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import Store
import Transport

/// One request to a sign-in path of a route, from its credentials to what its answer is told.
///
/// Isolated to the Reactor; held by its exchange.
@Reactor
final class SignInAttempt {
    /// Where the attempt stands.
    enum Stage {
        /// No API key and no allowed origin: the body has to say. Can become: judging, refused.
        case undecided(fallback: Refusal)
        /// The store and the verifiers are at it. Can become: granted, refused.
        case judging
        /// It may pass; nil: by API key or origin, and there is nothing to add.
        case granted(SignInGrant?)
        case refused(Refusal)
    }

    let endpoint: SignInEndpoint
    let settings: SignInSettings
    var stage: Stage
    /// The upstream's answer, held until it is complete.
    var held: HeldAnswer?

    init(_ endpoint: SignInEndpoint, _ settings: SignInSettings, stage: Stage) {
        self.endpoint = endpoint
        self.settings = settings
        self.stage = stage
    }

    /// What was granted, if it adds anything.
    var grant: SignInGrant? {
        guard case .granted(let grant) = stage else { return nil }
        return grant
    }
}

/// What lets a native sign-in pass.
struct SignInGrant: Sendable {
    let app: App
    /// nil: a code request of an earlier SDK version, without an attestation.
    let verdict: SignInVerdict?
    /// The caps that were reserved for it.
    let caps: [CapRule]
    /// When the sign-in was, in ms since 1970: a renewed session keeps it.
    let signedInAt: Int64
    /// Whether a session is renewed rather than begun.
    let isRenewal: Bool

    /// What the upstream learns as the request's credential: the `app_auth` of the session it makes (OFF-076).
    var credential: String { verdict?.authentication.rawValue ?? "none" }

    /// Whether the answer is told the verdict.
    var isTold: Bool { verdict != nil && !isRenewal }
}

/// An upstream's answer that is not relayed before it is complete.
@Reactor
final class HeldAnswer {
    private(set) var bytes: [UInt8] = []

    /// Takes more of it; false when it has become too long to be held.
    func append(_ more: Span<UInt8>) -> Bool {
        guard more.count <= AnswerSplice.mostBytes - bytes.count else { return false }
        bytes.append(contentsOf: more)
        return true
    }
}
