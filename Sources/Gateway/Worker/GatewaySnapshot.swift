// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP
import Telemetry
import Transport

/// The routes, upstreams, certificates and limits of one configuration, compiled and immutable.
///
/// A reload makes a new one aside and swaps it whole; an exchange that began keeps the one it began with. Pools whose
/// settings did not change move over, with their connections (B65, B66).
@Reactor
final class GatewaySnapshot {
    let settings: Configuration
    let routing: RoutingTable
    let pools: [UpstreamPool]
    let parserLimits: ParserLimits
    /// What HTTP/2 clients are told and held to.
    let http2: HTTP2Settings
    let trustedProxies: [AddressRange]
    /// The sizes and times of client streams.
    let streamLimits: StreamLimits
    /// The TLS set-up of each listener, in the order of the configuration; nil for clear text.
    let tls: [ListenerTLS?]
    /// The endpoints that each listener serves itself, in the order of the configuration; nil: none.
    let endpoints: [LocalEndpointTable?]
    /// Counts requests to the gateway's own endpoints.
    let local: RouteMetrics
    /// Whether some route's sessions are opaque, so that bearer tokens may be bound ones.
    let bindsSessions: Bool
    /// Counts requests that no route matched.
    let unrouted: RouteMetrics

    /// Puts together what `parts` were made of, with the TLS of the listeners.
    init(_ parts: SnapshotParts, tls: [ListenerTLS?], counters: RouteMetricsTable) {
        let settings = parts.settings
        self.settings = settings
        self.pools = parts.pools
        self.routing = RoutingTable(parts.routes)
        self.local = counters["_local"]
        self.endpoints = settings.listeners.map {
            $0.serves.isEmpty ? nil : LocalEndpointTable(serving: $0.serves, limits: $0.limits)
        }
        self.bindsSessions = settings.routes.contains { $0.signIn?.tokens == .opaque }
        self.unrouted = counters["_none"]
        self.parserLimits = ParserLimits(settings.http)
        var http2 = settings.http2
        http2.heads = parserLimits
        self.http2 = http2
        let streamLimits = StreamLimits()
        streamLimits.inboundHighWater = max(streamLimits.inboundHighWater, parserLimits.mostHead)
        streamLimits.handshakeDeadline = settings.timeouts.handshake
        streamLimits.flushDeadline = settings.timeouts.idle
        streamLimits.flushPatience = settings.timeouts.patience
        self.streamLimits = streamLimits
        self.trustedProxies = settings.clientAddress.trustedProxies
        self.tls = tls
    }

    /// The route of a request, or nil.
    ///
    /// A preflight is matched by the method it asks about.
    func route(of exchange: Exchange) -> Route? {
        exchange.request.route(in: routing, isPreflight: exchange.isPreflight)
    }

    /// The route of a request if its path were `path`, or nil.
    func route(of exchange: Exchange, withPath path: Span<UInt8>) -> Route? {
        exchange.request.route(in: routing, path: path, isPreflight: exchange.isPreflight)
    }

    /// Whether a listener offers HTTP/2.
    func servesHTTP2(_ listener: Int) -> Bool {
        guard listener < settings.listeners.count, case .tls(let tls) = settings.listeners[listener].traffic else {
            return false
        }
        return tls.protocols.contains(.http2)
    }

    /// Stops the pools that `successor` did not take over.
    func retire(after successor: GatewaySnapshot) {
        for pool in pools where !successor.pools.contains(where: { $0 === pool }) { pool.retire() }
    }
}

/// Why a configuration that reads well cannot be served.
package struct SnapshotProblem: Error, Sendable {
    /// One sentence for the operator, with the file or name it is about.
    package let message: String
}

extension ParserLimits {
    /// The limits of `http:`.
    init(_ settings: HTTPLimitSettings) {
        self.init()
        startLine = settings.line.bytes
        fieldCount = settings.fields
        fieldBytes = settings.head.bytes
    }
}

extension RequestHead {
    /// The route this head names.
    @Reactor
    fileprivate func route(in table: RoutingTable, isPreflight: Bool) -> Route? {
        route(in: table, path: path, isPreflight: isPreflight)
    }

    /// The route this head names if its path is `path`.
    @Reactor
    fileprivate func route(in table: RoutingTable, path: Span<UInt8>, isPreflight: Bool) -> Route? {
        let authority = authority
        let host = authority.extracting(Authority(authority)?.host ?? 0..<0)
        if isPreflight, let method = fields.first(.accessControlRequestMethod) {
            return table.route(host: host, path: path, method: method)
        }
        return table.route(host: host, path: path, method: methodBytes)
    }
}
