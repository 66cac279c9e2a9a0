// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP
import Transport

/// Writes the head of a request as the upstream gets it.
///
/// Dropped: hop-by-hop fields, every field a client may have forged (`sallyport-*` in any spelling, the app's names,
/// forwarding fields of peers that are no trusted proxies), fields that would have the upstream act on something else than
/// what was judged (`KnownFieldSet.overrides`), credentials the dialect keeps back. Added: ours.
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
        for name in route.removedRequestFields { dropFields(named: name, of: &exchange.request.fields) }
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
        for name in route.removedRequestFields { dropFields(named: name, of: &exchange.request.fields) }
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
        if connection.isTrustedProxy {
            exchange.request.appendTrustedForwarding(connection, exchange.facts.decision, to: &buffer)
        } else {
            buffer.append("X-Forwarded-For: ")
            buffer.append(utf8: connection.peerText)
            if connection.isTLS {
                buffer.append("\r\nX-Forwarded-Proto: https\r\n")
            } else {
                buffer.append("\r\nX-Forwarded-Proto: http\r\n")
            }
            exchange.request.appendOwnForwarding(exchange.facts.decision, to: &buffer)
        }
        appendJudgement(exchange, route, to: &buffer)
        if !route.addedRequestFields.isEmpty { buffer.append(contentsOf: route.addedRequestFields) }
        exchange.appendSignInFields(route, to: &buffer)
    }

    /// What was judged; asks for single facts, because all of them together would be copied to be read.
    private static func appendJudgement(_ exchange: Exchange, _ route: Route, to buffer: inout ByteBuffer) {
        buffer.append("Sallyport-Decision: ")
        exchange.facts.decision.append(to: &buffer)
        buffer.append("\r\n")
        guard let admission = exchange.facts.admission else { return }
        buffer.append(contentsOf: admission.app.upstreamFields(route.settings.dialect))
        buffer.append("Sallyport-Credential: ")
        buffer.append(utf8: admission.kind.rawValue)
        buffer.append("\r\n")
        if let trust = admission.trust {
            buffer.append("Sallyport-Trust: ")
            buffer.append(utf8: trust.rawValue)
            buffer.append("\r\n")
        }
        if var person = admission.person {
            person.makeContiguousUTF8()
            HeadWriter.appendField("Sallyport-Person", person.utf8.span, to: &buffer)
        }
        if let identity = exchange.facts.identity {
            HeadWriter.appendField("Sallyport-Identity", identity.span, to: &buffer)
        }
    }

    private static func dropFields(named name: [UInt8], of fields: inout FieldTable) {
        var start = 0
        while let index = fields.firstIndex(named: name.span, from: start) {
            fields.drop(at: index)
            start = index + 1
        }
    }
}

extension RequestHead {
    /// The request line, `Host` and the fields that pass.
    fileprivate func appendStart(
        host: [UInt8]?,
        path: [UInt8]?,
        skipping withheld: KnownFieldSet,
        to buffer: inout ByteBuffer
    ) {
        if let path {
            let rewritten = target(withPath: path)
            let name = host ?? Array(authorityText.utf8)
            HeadWriter.appendRequest(self, target: rewritten.span, host: name.span, skipping: withheld, to: &buffer)
        } else if let host {
            HeadWriter.appendRequest(self, target: target, host: host.span, skipping: withheld, to: &buffer)
        } else {
            HeadWriter.appendRequest(self, target: target, host: authority, skipping: withheld, to: &buffer)
        }
    }

    /// Opens an HTTP/2 stream with this head.
    fileprivate func begin(
        host: [UInt8]?,
        path: [UInt8]?,
        isSecure: Bool,
        skipping withheld: KnownFieldSet,
        adding lines: Span<UInt8>,
        on session: HTTP2Session
    ) -> HTTP2Stream? {
        let scheme: StaticString = isSecure ? "https" : "http"
        let hasBody = framing.hasBody
        if path == nil, host == nil {
            return session.request(
                self,
                scheme: scheme,
                authority: authority,
                target: target,
                skipping: withheld,
                adding: lines,
                hasBody: hasBody
            )
        }
        let name = host ?? Array(authorityText.utf8)
        let target = path.map { self.target(withPath: $0) } ?? Array(targetText.utf8)
        return session.request(
            self,
            scheme: scheme,
            authority: name.span,
            target: target.span,
            skipping: withheld,
            adding: lines,
            hasBody: hasBody
        )
    }

    /// `path` and the query as it came.
    private func target(withPath path: [UInt8]) -> [UInt8] {
        var target = path
        if let query {
            target.append(UInt8(ascii: "?"))
            for index in query.indices { target.append(query[index]) }
        }
        return target
    }

    /// What the upstream learns of the way here when the peer is the client itself.
    fileprivate func appendOwnForwarding(_ decision: DecisionID, to buffer: inout ByteBuffer) {
        buffer.append("X-Forwarded-Host: ")
        buffer.append(authority)
        buffer.append("\r\nVia: ")
        appendHop(to: &buffer)
        buffer.append("\r\nX-Request-Id: ")
        decision.append(to: &buffer)
        buffer.append("\r\n")
    }

    /// A trusted proxy's own words are kept, and its address joins the chain.
    @Reactor
    fileprivate func appendTrustedForwarding(
        _ connection: ClientConnectionFacts,
        _ decision: DecisionID,
        to buffer: inout ByteBuffer
    ) {
        buffer.append("X-Forwarded-For: ")
        appendList(of: .xForwardedFor, to: &buffer)
        buffer.append(utf8: connection.peerText)
        buffer.append("\r\nX-Forwarded-Proto: ")
        if let scheme = fields.first(.xForwardedProto) {
            buffer.append(scheme)
        } else {
            buffer.append(connection.isTLS ? "https" : "http")
        }
        buffer.append("\r\nX-Forwarded-Host: ")
        if let host = fields.first(.xForwardedHost) { buffer.append(host) } else { buffer.append(authority) }
        buffer.append("\r\nVia: ")
        appendList(of: .via, to: &buffer)
        appendHop(to: &buffer)
        buffer.append("\r\nX-Request-Id: ")
        if let id = fields.first(.xRequestID) { buffer.append(id) } else { decision.append(to: &buffer) }
        buffer.append("\r\n")
        appendHopClaims(to: &buffer)
    }

    /// Ourselves as a member of `Via`, with the version that the request came by (RFC 9110 7.6.3).
    private func appendHop(to buffer: inout ByteBuffer) {
        buffer.append(version.number)
        buffer.append(" sallyport")
    }

    private func appendHopClaims(to buffer: inout ByteBuffer) {
        guard fields.present.intersects(.hopClaims) else { return }
        for index in 0..<fields.count where KnownFieldSet.hopClaims.contains(fields.field(at: index)) {
            // A route that sets or removes the field has the last word, and so has `Connection`.
            if !fields.isDropped(at: index) { buffer.append(fields.line(at: index)) }
        }
    }

    private func appendList(of field: KnownField, to buffer: inout ByteBuffer) {
        guard fields.contains(field) else { return }
        for index in 0..<fields.count where fields.field(at: index) == field {
            buffer.append(fields.value(at: index))
            buffer.append(", ")
        }
    }

    fileprivate func appendFraming(isGathered: Bool, to buffer: inout ByteBuffer) {
        // Both are written anew: `Content-Length:\t05 ` has one reading here and perhaps another there.
        switch framing {
        case .chunked: buffer.append("Transfer-Encoding: chunked\r\n")
        case .length(let length): HeadWriter.appendField("Content-Length", Int(clamping: length), to: &buffer)
        case .none, .untilClose: break
        }
        appendExpectation(isGathered: isGathered, to: &buffer)
        if upgrade == .webSocket { buffer.append("Connection: Upgrade\r\nUpgrade: websocket\r\n") }
    }

    fileprivate func appendExpectation(isGathered: Bool, to buffer: inout ByteBuffer) {
        // A body that was read whole is not waited for.
        if expectsContinue, framing.hasBody, !isGathered { buffer.append("Expect: 100-continue\r\n") }
    }
}
