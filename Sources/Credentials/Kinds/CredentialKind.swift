// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What a request presented for an app.
package enum CredentialKind: String, Sendable, CaseIterable {
    case origin
    case apiKey = "api_key"
    case appToken = "app_token"
    case webToken = "web_token"
    case serverToken = "server_token"
    case debugToken = "debug_token"
    case runToken = "run_token"
    case sessionToken = "session_token"
    case person
}

/// A set of credential kinds, one bit each.
package struct CredentialKinds: Sendable, Hashable {
    private var bits: UInt16

    package init(_ kinds: [CredentialKind] = []) {
        bits = 0
        for kind in kinds { insert(kind) }
    }

    package mutating func insert(_ kind: CredentialKind) { bits |= Self.bit(kind) }
    package func contains(_ kind: CredentialKind) -> Bool { bits & Self.bit(kind) != 0 }

    /// Whether any kind that travels as a bearer token is in the set.
    package var takesTokens: Bool {
        bits & ~(Self.bit(.origin) | Self.bit(.apiKey)) != 0
    }

    /// Whether any kind is in the set whose tokens tell how far their app is trusted.
    package var carriesTrust: Bool { kinds.contains(where: \.carriesTrust) }

    /// The kinds in the order of their declaration.
    package var kinds: [CredentialKind] { CredentialKind.allCases.filter(contains) }

    private static func bit(_ kind: CredentialKind) -> UInt16 {
        switch kind {
        case .origin: 1
        case .apiKey: 2
        case .appToken: 4
        case .webToken: 8
        case .serverToken: 16
        case .debugToken: 32
        case .runToken: 64
        case .sessionToken: 128
        case .person: 256
        }
    }
}

/// What a verified proof is worth; ordered (OFF-006).
package enum Trust: String, Sendable, CaseIterable, Comparable {
    case development, degraded, hardware

    package static func < (left: Trust, right: Trust) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .development: 0
        case .degraded: 1
        case .hardware: 2
        }
    }
}
