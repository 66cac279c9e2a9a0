// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP

/// A token that a page offered as a WebSocket sub-protocol, since browsers let pages set no field of a handshake (B62).
///
/// The page offers `sallyport.bearer` and then the token, beside its own sub-protocols. Both are taken out and the token
/// is judged and forwarded as if it had come in `Authorization`.
enum SubprotocolToken {
    /// None was offered.
    case absent
    /// It stands in `Authorization` now.
    case taken
    /// The marker came without a token behind it, or twice.
    case malformed
    /// `Authorization` came too: which of the two counts is not for us to say.
    case ambiguous

    /// The sub-protocol that says that the next one is a token; harmless to echo.
    static let marker: StaticString = "sallyport.bearer"
}

extension RequestHead {
    /// Moves an offered token to `Authorization`.
    mutating func takeSubprotocolToken() -> SubprotocolToken {
        guard fields.contains(.secWebSocketProtocol) else { return .absent }
        let offered = subprotocols
        let marker = Array("\(SubprotocolToken.marker)".utf8)
        guard let index = offered.firstIndex(of: marker) else { return .absent }
        guard index + 1 < offered.count, !offered[(index + 1)...].contains(marker) else { return .malformed }
        guard !fields.contains(.authorization) else { return .ambiguous }
        for index in 0..<fields.count where fields.field(at: index) == .secWebSocketProtocol { fields.drop(at: index) }
        let rest = offered[..<index] + offered[(index + 2)...]
        if !rest.isEmpty {
            let value = Array(rest.joined(separator: ", ".utf8))
            fields.append(name: "Sec-WebSocket-Protocol".utf8.span, value: value.span)
        }
        let value = Array("Bearer ".utf8) + offered[index + 1]
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
            return refuse(exchange, Refusal(.badRequest, reason: "websocket_not_allowed"))
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
                    nextSteps: ["Offer the token right behind \(SubprotocolToken.marker), once."]
                )
            )
        case .ambiguous: return refuse(exchange, Refusal(.ambiguousCredentials))
        }
    }
}
