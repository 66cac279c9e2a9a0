// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What the access log says about one request.
///
/// What many lines tell is a member made ahead by what it names, and strings are those that snapshots and records already
/// hold, so that filling this in allocates nothing; what a client sent comes to `AccessLog.record` as spans.
///
/// There is no field for a path, a query, a header or a body: a secret has no way in.
package struct AccessEntry {
    /// Wall clock at the end, microseconds since 1970.
    package var timeMicroseconds: Int64 = 0
    package var decisionID: DecisionID
    /// Nil: the request never got as far as being judged.
    package var outcome: Outcome = .rejected
    /// The code or reason of a refusal, or why an exchange failed.
    package var reason: String?
    /// The members that name the organization and the app, as `App.logMembers`; empty: no app is known.
    package var app: [UInt8] = []
    package var keyID: String?
    package var credential: String?
    package var trust: String?
    /// The member that names the route, made with it; empty: none was found.
    package var route: [UInt8] = []
    /// The member that names the endpoint, made with it; empty: the request did not leave the gateway.
    package var upstream: [UInt8] = []
    /// The client's address as text, made once per connection.
    package var client: String = ""
    package var status: Int = 0
    package var httpVersion: HTTPVersionText = .http11
    /// `TLSv1.3`, or nil on clear text.
    package var tls: String?
    package var bytesIn: Int = 0
    package var bytesOut: Int = 0
    package var totalMicroseconds: Int = 0
    /// From the first byte sent to the upstream to its answer's head; nil when none was asked.
    package var upstreamMicroseconds: Int?

    /// The beginning of `route`.
    static var routeMember: StaticString { ",\"route\":" }
    /// The beginning of `upstream`.
    static var upstreamMember: StaticString { ",\"upstream\":" }

    package init(decisionID: DecisionID) {
        self.decisionID = decisionID
    }
}

/// How a request ended.
package enum Outcome: Int, Sendable, CaseIterable {
    /// Judged and let through, or answered by the gateway itself on its behalf.
    case admitted
    /// Judged and refused.
    case refused
    /// A preflight answered.
    case preflight
    /// Admitted, but the upstream or the gateway failed.
    case failed
    /// Not judged: malformed, or gone before its head was whole.
    case rejected

    package var word: StaticString {
        switch self {
        case .admitted: "admitted"
        case .refused: "refused"
        case .preflight: "preflight"
        case .failed: "failed"
        case .rejected: "rejected"
        }
    }
}

/// The protocol word of a log line.
package enum HTTPVersionText: Sendable {
    case http10, http11, http2

    package var word: StaticString {
        switch self {
        case .http10: "HTTP/1.0"
        case .http11: "HTTP/1.1"
        case .http2: "HTTP/2"
        }
    }
}
