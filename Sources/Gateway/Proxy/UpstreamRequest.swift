// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP
import Transport

/// Writes the head of a request as the upstream gets it.
///
/// Dropped: hop-by-hop fields, every field a client may have forged (`sallyport-*` in any spelling, the app's names,
/// forwarding fields of peers that are no trusted proxies), fields that would have the upstream act on something else
/// than what was judged (`KnownFieldSet.overrides`), credentials the dialect keeps back. Added: ours.
@Reactor
enum UpstreamRequest {
    /// Fields that are always written anew.
    nonisolated static let rewritten = KnownFieldSet.hopClaims.union([
        .xForwardedFor, .xForwardedProto, .xForwardedHost, .xRealIP, .forwarded, .via, .xRequestID, .xAppID, .orgID,
        .appID,
    ])

    /// Trailer fields of a request that do not go to the upstream.
    nonisolated static let withheldTrailers = KnownFieldSet.neverForwarded.union(rewritten)

    static func write(_ exchange: Exchange, endpointAuthority: [UInt8], to buffer: inout ByteBuffer) {
        guard let route = exchange.facts.route else { return }
        for name in route.removedRequestFields { exchange.request.fields.drop(named: name.span) }
        exchange.request.appendStart(
            host: keepsHost(exchange, route) ? nil : endpointAuthority,
            path: exchange.facts.rewrittenPath,
            skipping: exchange.withheldRequestFields(route).union([.contentLength]),
            to: &buffer
        )
        appendOurs(exchange, route, to: &buffer)
        exchange.request.appendFraming(isGathered: exchange.isGathering, to: &buffer)
        HeadWriter.endHead(&buffer)
    }

    /// Opens a stream for the request on an HTTP/2 connection; nil when the connection has no more.
    static func begin(
        _ exchange: Exchange,
        pool: UpstreamPool,
        endpoint: UpstreamEndpoint,
        on session: HTTP2Session
    ) -> HTTP2Stream? {
        guard let route = exchange.facts.route else { return nil }
        for name in route.removedRequestFields { exchange.request.fields.drop(named: name.span) }
        pool.scratch.removeAll()
        appendOurs(exchange, route, to: &pool.scratch)
        exchange.request.appendExpectation(isGathered: exchange.isGathering, to: &pool.scratch)
        return pool.scratch.withBytes { lines in
            exchange.request.begin(
                host: keepsHost(exchange, route) ? nil : endpoint.authority,
                path: exchange.facts.rewrittenPath,
                isSecure: endpoint.settings.usesTLS,
                skipping: exchange.withheldRequestFields(route),
                adding: lines,
                on: session
            )
        }
    }

    private static func keepsHost(_ exchange: Exchange, _ route: Route) -> Bool {
        route.settings.forward.keepsHost && exchange.request.hasAuthority
    }

    /// The fields that are ours to say: the way here, the judgement, what the route adds.
    private static func appendOurs(_ exchange: Exchange, _ route: Route, to buffer: inout ByteBuffer) {
        guard let connection = exchange.facts.connection else { return }
        let us = exchange.worker.environment.pseudonym
        if connection.isTrustedProxy {
            exchange.request.appendTrustedForwarding(connection, exchange.facts.decision, us, to: &buffer)
        } else {
            buffer.append("X-Forwarded-For: ")
            buffer.append(utf8: connection.peerText)
            if connection.isTLS {
                buffer.append("\r\nX-Forwarded-Proto: https\r\n")
            } else {
                buffer.append("\r\nX-Forwarded-Proto: http\r\n")
            }
            exchange.request.appendOwnForwarding(exchange.facts.decision, us, to: &buffer)
        }
        appendJudgement(exchange, route, to: &buffer)
        if exchange.request.fields.contains(.maxForwards) { ForwardCount(exchange.request).append(to: &buffer) }
        if !route.addedRequestFields.isEmpty { buffer.append(contentsOf: route.addedRequestFields) }
        exchange.appendSignInFields(route, to: &buffer)
    }

    /// What was judged; asks for single facts, because all of them together would be copied to be read.
    private static func appendJudgement(_ exchange: Exchange, _ route: Route, to buffer: inout ByteBuffer) {
        buffer.append("Sallyport-Decision: ")
        exchange.facts.decision.append(to: &buffer)
        buffer.append("\r\n")
        guard let kind = exchange.facts.admission?.kind, let app = exchange.facts.admission?.app else { return }
        buffer.append(contentsOf: app.upstreamFields(route.dialect))
        buffer.append("Sallyport-Credential: ")
        buffer.append(utf8: kind.rawValue)
        buffer.append("\r\n")
        if let trust = exchange.facts.admission?.trust {
            buffer.append("Sallyport-Trust: ")
            buffer.append(utf8: trust.rawValue)
            buffer.append("\r\n")
        }
        if var person = exchange.facts.admission?.person {
            person.makeContiguousUTF8()
            HeadWriter.appendField("Sallyport-Person", person.utf8.span, to: &buffer)
        }
        if let identity = exchange.facts.identity {
            HeadWriter.appendField("Sallyport-Identity", identity.span, to: &buffer)
        }
    }
}
