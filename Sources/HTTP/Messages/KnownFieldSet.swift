// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A set of known fields: one bit each, so that membership costs two instructions.
@usableFromInline
package struct KnownFieldSet: Sendable, BitwiseCopyable, Equatable, ExpressibleByArrayLiteral {
    @usableFromInline var bits: UInt128

    /// The set with exactly these bits.
    @usableFromInline
    @inline(__always)
    init(bits: UInt128) {
        self.bits = bits
    }

    /// The set of the fields listed.
    @inlinable
    @inline(__always)
    package init(arrayLiteral elements: KnownField...) {
        bits = 0
        for element in elements { insert(element) }
    }

    /// Whether `field` is a member.
    @inlinable
    @inline(__always)
    package func contains(_ field: KnownField) -> Bool {
        bits & (1 &<< UInt128(field.rawValue)) != 0
    }

    /// Adds `field`.
    @inlinable
    @inline(__always)
    package mutating func insert(_ field: KnownField) {
        bits |= 1 &<< UInt128(field.rawValue)
    }

    /// The members of both.
    @inlinable
    @inline(__always)
    package func union(_ other: KnownFieldSet) -> KnownFieldSet {
        KnownFieldSet(bits: bits | other.bits)
    }

    /// Whether the two share a member.
    @inlinable
    @inline(__always)
    package func intersects(_ other: KnownFieldSet) -> Bool {
        bits & other.bits != 0
    }

    /// Fields that speak about one connection and never cross a proxy (RFC 9110 7.6.1).
    package static let hopByHop: KnownFieldSet = [
        .connection, .keepAlive, .proxyConnection, .te, .trailer, .transferEncoding, .upgrade, .http2Settings,
        .proxyAuthenticate, .proxyAuthorization, .proxyAuthenticationInfo,
    ]

    /// Fields by which software behind a gateway is told of another path, method, host, proxy or person than the one
    /// that was judged: whoever sends one, the upstream acts on what was judged (`Proxy` becomes `HTTP_PROXY` in CGI).
    package static let overrides: KnownFieldSet = [
        .xOriginalURL, .xRewriteURL, .xOriginalURI, .xRewriteURI, .xOriginalMethod, .xOriginalHost, .xHost,
        .xHTTPHostOverride, .xHTTPMethodOverride, .xMethodOverride, .xHTTPMethod, .proxy, .remoteUser, .xRemoteUser,
        .clientCert, .clientCertChain, .forwardedPrefixed,
    ]

    /// What proxies say of the way here beside what we say ourselves: believed of trusted ones
    /// only, and then as it came.
    package static let hopClaims: KnownFieldSet = [
        .xForwardedPort, .xForwardedPrefix, .xForwardedSSL, .xForwardedScheme, .xForwardedServer, .trueClientIP,
        .xClientIP, .xClusterClientIP, .cfConnectingIP,
    ]

    /// What a client may never hand to an upstream: hop-by-hop fields, names of ours, names that turn into judged ones,
    /// names that put something else in the place of what was judged.
    package static let neverForwarded: KnownFieldSet = hopByHop.union([.gatewayPrefixed, .alias, .expect])
        .union(overrides)
}
