// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
package import HTTP
package import Limits
package import Transport

/// Which requests go where, and who may make them.
package struct RouteSettings: Sendable {
    package var name: String
    package var match: RouteMatch
    /// The index into `Configuration.upstreams`.
    package var upstream: Int
    package var dialect: Dialect
    /// The app that requests of this route speak for when they name none.
    package var app: AppID?
    package var access: RouteAccess
    package var signIn: SignInSettings?
    /// nil: this route answers no preflight and adds no CORS field to answers.
    package var cors: CORSPolicy?
    package var limits: [WindowRule]
    package var requestHeaders: HeaderEdits
    package var responseHeaders: HeaderEdits
    package var clients: ClientRanges
    package var timeouts: UpstreamTimeoutSettings
    package var body: ByteCount
    package var paths: PathPolicy
    package var forward: ForwardPolicy
    package var allowsWebSocket: Bool
}

/// The requests a route takes.
package struct RouteMatch: Sendable, Equatable {
    /// Lower-case names without a port; `*.example.com` matches one label; empty: any host.
    package var hosts: [String]
    /// A prefix that ends at a segment: `/v1/` and `/v1` take `/v1/x`, not `/v1x`.
    package var path: String
    /// Upper-case; empty: any method.
    package var methods: [String]
}

/// The paths of a route where people sign in to an app, and what becomes of the sessions begun there.
package struct SignInSettings: Sendable, Equatable {
    package var sendCode: String?
    package var verify: String?
    package var guest: String?
    package var refresh: String?
    /// Who can read a session's token later.
    package var tokens: SessionTokenForm
    /// How long a bound session counts (OFF-079).
    package var sessionLife: Duration
    /// How long a token that renews sessions counts.
    package var refreshLife: Duration

    /// The paths that are set, with the endpoint that each is; no other than `dialect` has.
    func paths(in dialect: Dialect) -> [(path: [UInt8], endpoint: SignInEndpoint)] {
        dialect.signInEndpoints.compactMap { endpoint in path(of: endpoint).map { (Array($0.utf8), endpoint) } }
    }

    /// The path that is set for `endpoint`.
    func path(of endpoint: SignInEndpoint) -> String? {
        switch endpoint {
        case .sendCode: sendCode
        case .verify: verify
        case .guest: guest
        case .refresh: refresh
        }
    }
}

/// What the session tokens of an upstream are.
package enum SessionTokenForm: String, Sendable, CaseIterable {
    /// Tokens of an issuer of kind `session`, which the gateway verifies.
    case jwt
    /// Texts that only the upstream can read: the gateway binds each to what its sign-in proved.
    case opaque
}

/// Fields to set (replacing any of that name) and to remove.
package struct HeaderEdits: Sendable, Equatable {
    /// Names in lower case, in the order of the file.
    package var replaced: [HeaderField]
    package var removed: [String]

    /// Nothing to do.
    package static let none = HeaderEdits(replaced: [], removed: [])
}

/// A field name in lower case and its value.
package struct HeaderField: Sendable, Equatable {
    package var name: String
    package var value: String
}

/// Which client addresses may use a route; a denied range wins over an allowed one.
package struct ClientRanges: Sendable, Equatable {
    /// Empty: any.
    package var allow: [AddressRange]
    package var deny: [AddressRange]
}

/// What happens to credentials and the host name on the way up.
package struct ForwardPolicy: Sendable, Equatable {
    package var keepsAuthorization: Bool
    package var keepsAPIKey: Bool
    package var keepsClientAuthorization: Bool
    /// Whether the upstream sees the client's Host; false: the endpoint's own.
    package var keepsHost: Bool
    /// Whether the upstream gets `Sallyport-Identity`.
    package var signsIdentity = false

    /// The dialect's rule (architecture §4).
    package static func standard(for dialect: Dialect) -> ForwardPolicy {
        switch dialect {
        case .offlineid:
            // Authorization is the user's own session; the upstream needs it.
            ForwardPolicy(
                keepsAuthorization: true,
                keepsAPIKey: false,
                keepsClientAuthorization: true,
                keepsHost: true
            )
        case .appengine, .vouch:
            ForwardPolicy(
                keepsAuthorization: false,
                keepsAPIKey: false,
                keepsClientAuthorization: true,
                keepsHost: true
            )
        }
    }
}
