// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP

/// A token that a page offered as a WebSocket sub-protocol, since browsers let pages set no field of a handshake (B62).
///
/// The page offers `sallyport.bearer` and then the token, beside its own sub-protocols. Every copy of both is taken
/// out, on open routes too, and the token is judged and forwarded as if it had come in `Authorization`.
enum SubprotocolToken {
    /// None was offered.
    case absent
    /// It stands in `Authorization` now.
    case taken
    /// The marker came without a token behind it.
    case malformed
    /// Another token was offered too, or `Authorization` came: which of them counts is not for us to say.
    case ambiguous

    /// The sub-protocol that says that the next one is a token; harmless to echo.
    static let marker: StaticString = "sallyport.bearer"
}

extension RequestHead {
    /// Moves an offered token to `Authorization`.
    fileprivate mutating func takeSubprotocolToken() -> SubprotocolToken {
        guard fields.contains(.secWebSocketProtocol) else { return .absent }
        let offered = subprotocols
        let marker = Array("\(SubprotocolToken.marker)".utf8)
        var token: [UInt8]?
        var rest: [[UInt8]] = []
        var next = 0
        while next < offered.count {
            let entry = offered[next]
            next += 1
            guard entry == marker else {
                rest.append(entry)
                continue
            }
            guard next < offered.count, offered[next] != marker else { return .malformed }
            if let token, token != offered[next] { return .ambiguous }
            token = offered[next]
            next += 1
        }
        guard let token else { return .absent }
        guard !fields.contains(.authorization) else { return .ambiguous }
        for index in 0..<fields.count where fields.field(at: index) == .secWebSocketProtocol { fields.drop(at: index) }
        // A copy that stands elsewhere would go on as a sub-protocol.
        rest.removeAll { $0 == token }
        if !rest.isEmpty {
            let value = Array(rest.joined(separator: ", ".utf8))
            fields.append(name: "Sec-WebSocket-Protocol".utf8.span, value: value.span)
        }
        let value = Array("Bearer ".utf8) + token
        fields.append(name: "Authorization".utf8.span, value: value.span)
        return .taken
    }

    /// The sub-protocols offered, in order.
    private var subprotocols: [[UInt8]] {
        var offered: [[UInt8]] = []
        for index in 0..<fields.count where fields.field(at: index) == .secWebSocketProtocol {
            let value = fields.value(at: index)
            var list = TokenList()
            while let range = list.nextMember(of: value) { offered.append(range.map { value[$0] }) }
        }
        return offered
    }
}

extension RequestPipeline {
    /// What the route says of a WebSocket handshake; nil lets it pass.
    func checkWebSocket(_ exchange: Exchange, _ route: Route) -> Step? {
        guard route.settings.allowsWebSocket else {
            let steps = ["Set websocket: true for the route, or leave Upgrade out."]
            return refuse(exchange, Refusal(.badRequest, reason: "websocket_not_allowed", nextSteps: steps))
        }
        switch exchange.request.takeSubprotocolToken() {
        case .absent: return nil
        case .taken:
            exchange.facts.offeredToken = true
            return nil
        case .malformed:
            return refuse(
                exchange,
                Refusal(
                    .badRequest,
                    reason: "websocket_token_missing",
                    nextSteps: ["Offer the token right behind \(SubprotocolToken.marker)."]
                )
            )
        case .ambiguous: return refuse(exchange, Refusal(.ambiguousCredentials))
        }
    }
}
