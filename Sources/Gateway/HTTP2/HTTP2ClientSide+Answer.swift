// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Transport

/// The answer on its way to the client.
extension HTTP2ClientSide {
    /// Above this many bytes that the client's windows hold back, the exchange stops reading from the upstream.
    private static let outboundHighWater = 128 << 10

    var isCongested: Bool {
        guard let stream, let connection else { return false }
        let isCrowded = connection.session.isOutboundCrowded || connection.worker.loop.isMemoryShort
        return stream.outboundCount > (isCrowded ? HTTP2Stream.crowdedWater : Self.outboundHighWater)
    }

    /// The connection, as long as what is said to it goes out.
    private var openConnection: HTTP2Downstream? {
        guard let connection, connection.state == .open else { return nil }
        return connection
    }

    /// The answer came after its connection had ended, and before it was this request's turn to be given up.
    private func lost(_ exchange: Exchange) {
        exchange.facts.clientFailure = connection?.ending ?? .closedEarly
        self.exchange = nil
        wantsBody = false
    }

    func sendContinue() {
        guard let stream, let connection = openConnection else { return }
        let none = FieldTable()
        connection.session.respondInterim(stream, status: 100, fields: none, skipping: [])
        connection.outputAppended()
    }

    func sendInterim(_ exchange: Exchange) {
        guard let stream, let connection = openConnection else { return }
        exchange.dropAnswerFields()
        connection.session.respondInterim(
            stream,
            status: exchange.response.status,
            fields: exchange.response.fields,
            skipping: exchange.response.fieldsNotRelayed.union(exchange.withheldAnswerFields)
        )
        connection.outputAppended()
    }

    func sendHead(_ exchange: Exchange) {
        guard let stream, let connection = openConnection else { return }
        isAnswering = true
        readLimit = .distantFuture
        exchange.dropAnswerFields()
        connection.lines.removeAll()
        exchange.appendAnswerFields(to: &connection.lines)
        connection.lines.withBytes { lines in
            connection.session.respond(
                stream,
                status: exchange.response.status,
                fields: exchange.response.fields,
                skipping: exchange.response.fieldsNotRelayed.union(exchange.withheldAnswerFields),
                adding: lines,
                hasBody: exchange.response.framing.hasBody
            )
        }
        connection.outputAppended()
    }

    func sendBody(_ bytes: Span<UInt8>) {
        guard let stream, let connection = openConnection else { return }
        connection.session.write(bytes, to: stream)
        connection.outputAppended()
    }

    func sendEnd(_ exchange: Exchange, trailers: borrowing FieldTable) {
        guard let stream, let connection = openConnection else { return lost(exchange) }
        let withheld = KnownFieldSet.neverForwarded.union(exchange.withheldAnswerFields)
        connection.session.end(stream, trailers: trailers, skipping: withheld)
        answered()
    }

    func sendLocal(_ answer: LocalAnswer, for exchange: Exchange) {
        guard let stream, let connection = openConnection else { return lost(exchange) }
        let hasBody = !answer.body.isEmpty && exchange.request.method != .head
        let worker = connection.worker
        connection.lines.removeAll()
        HeadWriter.appendField(
            "Date",
            worker.date.bytes(at: worker.loop.wallClockMilliseconds).span,
            to: &connection.lines
        )
        for field in answer.fields {
            connection.lines.append(utf8: field.name)
            connection.lines.append(": ")
            connection.lines.append(utf8: field.value)
            connection.lines.append("\r\n")
        }
        if answer.status != 204 { HeadWriter.appendField("Content-Length", answer.body.count, to: &connection.lines) }
        let none = FieldTable()
        connection.lines.withBytes { lines in
            connection.session.respond(
                stream,
                status: answer.status,
                fields: none,
                skipping: [],
                adding: lines,
                hasBody: hasBody
            )
        }
        if hasBody {
            connection.session.write(answer.body.span, to: stream)
            connection.session.end(stream)
        }
        answered()
    }

    /// The rest of an upload that nobody wants is let run out for a while, then the stream is ended (RFC 9113 8.1).
    private func answered() {
        exchange = nil
        wantsBody = false
        guard let stream, let connection else { return }
        connection.session.ignoreInbound(of: stream)
        connection.outputAppended()
    }

    func sendRelayed(_ bytes: Span<UInt8>) {
        // No request of HTTP/2 asks for a switch of protocols, so no upstream may answer with one.
        abort()
    }

    func endRelay() { abort() }

    func endShort() {
        exchange = nil
        wantsBody = false
        guard let stream, let connection else { return }
        connection.session.endShort(stream, .internalError)
        connection.session.ignoreInbound(of: stream)
        connection.outputAppended()
    }

    func abort() {
        exchange = nil
        wantsBody = false
        guard let stream, let connection else { return }
        connection.session.reset(stream, .internalError)
        connection.outputAppended()
    }
}
