// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP
import Transport

extension Exchange {
    /// Fields of the upstream's answer that do not reach the client.
    ///
    /// Where windows of ours were counted the upstream's own budget is left out: a client reads one, and the smaller is
    /// not the first. Where none were, it passes.
    var withheldAnswerFields: KnownFieldSet {
        guard let route = facts.route else { return [] }
        guard facts.hasBudget, !route.budget.policyText.isEmpty else { return route.withheldAnswerFields }
        return route.withheldAnswerFields.union([.rateLimit, .rateLimitPolicy])
    }

    /// Marks the fields that the route removes or replaces.
    func dropAnswerFields() {
        guard let route = facts.route else { return }
        for name in route.removedAnswerFields { response.fields.drop(named: name.span) }
    }

    /// Appends the fields we add to an upstream's answer: who may read it, what budget is left, the route's own.
    func appendAnswerFields(to buffer: inout ByteBuffer) {
        guard let route = facts.route else { return }
        // RFC 9110 6.6.1: who forwards an answer without a date gives it one.
        if !response.fields.contains(.date) {
            HeadWriter.appendField("Date", worker.date.bytes(at: worker.loop.wallClockMilliseconds).span, to: &buffer)
        }
        if facts.isOriginListed { appendCORSFields(route, to: &buffer) }
        if !route.varyLine.isEmpty { buffer.append(contentsOf: route.varyLine) }
        if facts.hasBudget { appendBudgetFields(to: &buffer) }
        if facts.signIn != nil { Self.append(verdictFields, to: &buffer) }
        if !route.addedAnswerFields.isEmpty { buffer.append(contentsOf: route.addedAnswerFields) }
    }

    private static func append(_ fields: [HeaderField], to buffer: inout ByteBuffer) {
        for field in fields {
            buffer.append(utf8: field.name)
            buffer.append(": ")
            buffer.append(utf8: field.value)
            buffer.append("\r\n")
        }
    }

    /// Chooses the marker where the upstream chose none of the sub-protocols that were left.
    func appendSubprotocol(to buffer: inout ByteBuffer) {
        guard facts.offeredToken, !response.fields.contains(.secWebSocketProtocol) else { return }
        buffer.append("Sec-WebSocket-Protocol: ")
        buffer.append(SubprotocolToken.marker)
        buffer.append("\r\n")
    }

    /// A page on a listed origin may read the answer.
    private func appendCORSFields(_ route: Route, to buffer: inout ByteBuffer) {
        request.appendValue(of: .origin, as: "Access-Control-Allow-Origin", to: &buffer)
        buffer.append(contentsOf: route.corsFields)
    }
}

extension RequestHead {
    /// Appends the first value of a field under a name of ours; nothing when it did not come.
    fileprivate func appendValue(of field: KnownField, as name: StaticString, to buffer: inout ByteBuffer) {
        guard let value = fields.first(field) else { return }
        buffer.append(name)
        buffer.append(": ")
        buffer.append(value)
        buffer.append("\r\n")
    }
}
