// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP
import Store
import Transport

/// What became known of a request on its way: for the phases, the upstream's fields and the record at the end.
struct ExchangeFacts {
    var connection: ClientConnectionFacts?
    var route: Route?
    /// The endpoint of the gateway's own that the request is for; then there is no route.
    var local: LocalMatch?
    var phase = RequestPipeline.Phase.matchRoute
    /// The path as it is forwarded, where the route's policy brought it to another form.
    var rewrittenPath: [UInt8]?
    var decision = DecisionID.none

    /// The client's address: the peer, or what a trusted proxy says (B21).
    var client = ClientConnectionFacts.nobody
    /// The client's address as text where it is not the peer's.
    var clientText: String?

    var outcome = Outcome.rejected
    var reason: String?
    /// The app that the request names, where the registry knows it.
    var app: App?
    /// How the request names its app.
    var naming = AppNaming.token
    /// How often the request had to wait for Redis.
    var waits = 0
    var admission: Admission?
    /// What is known of the bearer token; nil: nobody has asked.
    var token: TokenKnowledge?
    /// What is known of the token in `x-client-authorization`.
    var personToken: TokenKnowledge?
    /// Set on a route's sign-in paths.
    var signIn: SignInAttempt?
    /// `Sallyport-Identity` for the upstream.
    var identity: [UInt8]?
    /// Set when another proxy only asks about the request.
    var check: CheckQuestion?
    /// Whether the request's `Origin` is listed by the app it speaks for: such a page may read the answer.
    var isOriginListed = false
    /// Whether the token came as a WebSocket sub-protocol: browsers then want one to be chosen.
    var offeredToken = false
    /// Whether the windows were counted: the answer then says what is left.
    var hasBudget = false

    /// The changes of the registry that the credential was last asked after, while the answer is under way.
    var openRevision: UInt64 = 0
    /// When the credential ends by itself, milliseconds since 1970; nil: not asked yet.
    var credentialEnd: Int64?
    /// Why the answer is being broken off.
    var endingStream: StreamEnding?
    /// Where the frames of the upstream's side of a WebSocket end.
    var frames = WebSocketFrames()

    var startedAt = MonotonicInstant.distantFuture
    var forwardedAt: MonotonicInstant?
    var firstByteAt: MonotonicInstant?
    /// The end of the route's total time, or of the time that the call asked for, whichever is earlier.
    var deadline: MonotonicInstant?
    /// The end of the time that a gRPC call asked for.
    var callEnd: MonotonicInstant?
    var timeouts = UpstreamTimeoutSettings.unrouted

    var status = 0
    var bytesIn = 0
    var bytesOut = 0
    var upstreamFailure: UpstreamFailure?
    var clientFailure: ClientFailure?

    /// The dialect that refusals speak; before a place is known, the neutral shape of dialect A.
    var dialect: Dialect { route?.settings.dialect ?? local?.endpoint.group.dialect ?? .offlineid }

    /// What the registry said of the app that the request names.
    var lookup: AppFinding { app.map { .found($0) } ?? .unknown }

    /// The pool the route forwards to.
    var upstreamPool: UpstreamPool? { route?.pool }
}

extension UpstreamTimeoutSettings {
    /// Before a route is known.
    static let unrouted = UpstreamTimeoutSettings(connect: .zero, firstByte: .zero, idle: .zero, total: .zero)
}
