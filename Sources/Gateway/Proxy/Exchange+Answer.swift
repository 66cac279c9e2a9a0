// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP

extension Exchange {
    /// Fields of the upstream's answer that do not reach the client.
    var withheldAnswerFields: KnownFieldSet { facts.route?.withheldAnswerFields ?? [] }

    /// Marks the fields that the route removes or replaces.
    func dropAnswerFields() {
        guard let route = facts.route else { return }
        for name in route.removedAnswerFields {
            var start = 0
            while let index = response.fields.firstIndex(named: name.span, from: start) {
                response.fields.drop(at: index)
                start = index + 1
            }
        }
    }

    /// Appends the fields we add to an upstream's answer: who may read it, what budget is left, the route's own.
    func appendAnswerFields(to buffer: inout ByteBuffer) {
        guard let route = facts.route else { return }
        if !route.corsFields.isEmpty || facts.isOriginListed { appendCORSFields(route, to: &buffer) }
        if facts.hasBudget { Self.append(budgetFields, to: &buffer) }
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

    /// A page on a listed origin may read the answer; any other answer only tells caches that it could differ.
    private func appendCORSFields(_ route: Route, to buffer: inout ByteBuffer) {
        guard facts.isOriginListed else { return buffer.append("Vary: Origin\r\n") }
        request.appendValue(of: .origin, as: "Access-Control-Allow-Origin", to: &buffer)
        buffer.append(contentsOf: route.corsFields)
    }
}

extension RequestHead {
    /// Appends the first value of a field under a name of ours; nothing when it did not come.
    func appendValue(of field: KnownField, as name: StaticString, to buffer: inout ByteBuffer) {
        guard let value = fields.first(field) else { return }
        buffer.append(name)
        buffer.append(": ")
        buffer.append(value)
        buffer.append("\r\n")
    }
}
