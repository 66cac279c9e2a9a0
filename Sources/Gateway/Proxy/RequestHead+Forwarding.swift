// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Transport

extension RequestHead {
    /// What the upstream learns of the way here when the peer is the client itself.
    ///
    /// `Via` is kept whoever sent it: without the names of those before us, a loop through several gateways has no end.
    func appendOwnForwarding(_ decision: DecisionID, _ us: ViaPseudonym, to buffer: inout ByteBuffer) {
        buffer.append("X-Forwarded-Host: ")
        buffer.append(authority)
        buffer.append("\r\nVia: ")
        appendList(of: .via, to: &buffer)
        append(us, to: &buffer)
        buffer.append("\r\nX-Request-Id: ")
        decision.append(to: &buffer)
        buffer.append("\r\n")
    }

    /// A trusted proxy's own words are kept, and its address joins the chain.
    @Reactor
    func appendTrustedForwarding(
        _ connection: ClientConnectionFacts,
        _ decision: DecisionID,
        _ us: ViaPseudonym,
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
        append(us, to: &buffer)
        buffer.append("\r\nX-Request-Id: ")
        if let id = fields.first(.xRequestID) { buffer.append(id) } else { decision.append(to: &buffer) }
        buffer.append("\r\n")
        appendHopClaims(to: &buffer)
    }

    /// Ourselves as a member of `Via`, with the version that the request came by (RFC 9110 7.6.3).
    private func append(_ us: ViaPseudonym, to buffer: inout ByteBuffer) {
        buffer.append(version.number)
        buffer.append(" ")
        buffer.append(contentsOf: us.bytes)
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

    func appendFraming(isGathered: Bool, to buffer: inout ByteBuffer) {
        // Both are written anew: `Content-Length:\t05 ` has one reading here and perhaps another there.
        switch framing {
        case .chunked: buffer.append("Transfer-Encoding: chunked\r\n")
        case .length(let length): HeadWriter.appendField("Content-Length", Int(clamping: length), to: &buffer)
        case .none, .untilClose: break
        }
        appendExpectation(isGathered: isGathered, to: &buffer)
        if upgrade == .webSocket { buffer.append("Connection: Upgrade\r\nUpgrade: websocket\r\n") }
    }

    func appendExpectation(isGathered: Bool, to buffer: inout ByteBuffer) {
        // A body that was read whole is not waited for.
        if expectsContinue, framing.hasBody, !isGathered { buffer.append("Expect: 100-continue\r\n") }
    }
}
