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
    let query: String
    let host: String
    let body: [UInt8]
    /// The client's address, trusted proxies passed.
    let client: IPAddress
    let isTLS: Bool
    /// The decision id of this request.
    let decision: String
    /// Milliseconds since 1970 when the request was complete, by the clock that judges.
    let now: Int64
    private let fields: [(field: KnownField, name: String, value: String)]

    @Reactor
    init(_ exchange: Exchange, _ match: LocalMatch, body: [UInt8]) {
        method = exchange.request.methodText
        path = exchange.request.pathText
        query = exchange.request.queryText
        host = exchange.request.hostText
        parameters = match.parameters
        self.body = body
        client = exchange.facts.client
        isTLS = exchange.facts.connection?.isTLS ?? false
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

    /// The first value of a field by its lower-case name.
    func value(named name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// The media type of the body, lower case, without parameters; empty when none was named.
    var mediaType: String {
        guard let type = value(.contentType)?.split(separator: ";").first else { return "" }
        return type.withoutSurroundingSpaces.lowercased()
    }
}

extension RequestHead {
    /// Every field as text, names in lower case, off the hot path.
    fileprivate var fieldTexts: [(field: KnownField, name: String, value: String)] {
        var texts: [(field: KnownField, name: String, value: String)] = []
        texts.reserveCapacity(fields.count)
        for index in 0..<fields.count {
            let name = fields.name(at: index)
            let value = fields.value(at: index)
            texts.append((fields.field(at: index), name.text.lowercased(), value.text))
        }
        return texts
    }

    /// What follows the question mark as text, off the hot path.
    fileprivate var queryText: String {
        guard let query else { return "" }
        return query.text
    }
}
