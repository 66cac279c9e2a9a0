// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP
import Store
import Transport

/// A request to one of the gateway's own endpoints, whole: a copy, because the exchange goes on without it.
struct LocalRequest: Sendable {
    let method: String
    let path: String
    let parameters: [String: String]
    let body: [UInt8]
    /// The client's address, trusted proxies passed.
    let client: IPAddress
    /// The decision id of this request.
    let decision: String
    /// Milliseconds since 1970 when the request was complete, by the clock that judges.
    let now: Int64
    private let fields: [(field: KnownField, value: String)]

    @Reactor
    init(_ exchange: Exchange, _ match: LocalMatch, body: [UInt8]) {
        method = exchange.request.methodText
        path = exchange.request.pathText
        parameters = match.parameters
        self.body = body
        client = exchange.facts.client
        decision = exchange.facts.decision.text
        now = exchange.worker.state.clock.now
        fields = exchange.request.fieldTexts
    }

    /// The first value of a field; nil when it did not come.
    func value(_ field: KnownField) -> String? {
        fields.first { $0.field == field }?.value
    }

    /// Every value of a field, in order.
    func values(_ field: KnownField) -> [String] {
        fields.filter { $0.field == field }.map(\.value)
    }
}

extension RequestHead {
    /// Every known field as text, off the hot path.
    fileprivate var fieldTexts: [(field: KnownField, value: String)] {
        var texts: [(field: KnownField, value: String)] = []
        texts.reserveCapacity(fields.count)
        for index in 0..<fields.count {
            let value = fields.value(at: index)
            texts.append((fields.field(at: index), value.lossyText))
        }
        return texts
    }
}
