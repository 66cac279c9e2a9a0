// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP
import Transport

/// A family of endpoints that a listener may serve itself (`listeners[].serves`).
package enum EndpointGroup: String, Sendable, CaseIterable {
    case offlineid, vouch, appengine
    /// What administrators of dialect C call: identity and debug tokens.
    case appengineAdmin = "appengine-admin"
    /// `/.well-known/jwks.json`.
    case keys
    /// `/gateway/check`, for proxies that ask; on inner listeners only.
    case check

    /// Whether apps sign in here.
    var isSignIn: Bool {
        switch self {
        case .offlineid, .vouch, .appengine: true
        case .appengineAdmin, .keys, .check: false
        }
    }

    /// The dialect that renders refusals.
    var dialect: Dialect {
        switch self {
        case .offlineid, .keys, .check: .offlineid
        case .vouch: .vouch
        case .appengine, .appengineAdmin: .appengine
        }
    }
}

/// One endpoint that the gateway answers itself: a challenge, a proof, a key set.
///
/// Added as a line of `LocalEndpointTable`. Its body is gathered first, up to `mostBytes`, and `answer` runs on the
/// loop: it must not block, and hands work over 1 ms to the pool.
struct LocalEndpoint: Sendable {
    let group: EndpointGroup
    /// Upper-case method; GET answers HEAD too.
    let method: String
    let path: PathPattern
    /// The longest body taken, in bytes; 0 for none.
    let mostBytes: Int
    /// Whether pages call it: it then answers preflights, and listed origins may read its answers.
    let isBrowserFacing: Bool
    /// Whether anybody may call it, so that the listener's limits count its requests (SAL-012).
    let isLimited: Bool
    let answer: @Reactor @Sendable (LocalRequest, Worker) async -> LocalOutcome

    init(
        _ group: EndpointGroup,
        _ method: String,
        _ path: PathPattern,
        mostBytes: Int,
        isBrowserFacing: Bool,
        isLimited: Bool = true,
        answer: @escaping @Reactor @Sendable (LocalRequest, Worker) async -> LocalOutcome
    ) {
        self.group = group
        self.method = method
        self.path = path
        self.mostBytes = mostBytes
        self.isBrowserFacing = isBrowserFacing
        self.isLimited = isLimited && group.isSignIn
        self.answer = answer
    }
}

/// The endpoint that a request names, with what stood in the places of its path's parameters.
final class LocalMatch: Sendable {
    let endpoint: LocalEndpoint
    let parameters: [String: String]
    /// The path is an endpoint's, the method is not: these are the ones it takes.
    let otherMethods: [String]

    init(_ endpoint: LocalEndpoint, parameters: [String: String], otherMethods: [String] = []) {
        self.endpoint = endpoint
        self.parameters = parameters
        self.otherMethods = otherMethods
    }
}

/// What an endpoint decided, with what the record is to know of it.
struct LocalOutcome: Sendable {
    enum Reply: Sendable {
        case answer(LocalAnswer)
        case refusal(Refusal)
    }

    let reply: Reply
    /// The app that the request spoke for.
    let app: App?
    /// The stable word for the access log; a refusal has its own.
    let reason: String?

    /// An answer in the endpoint's own form; a status from 400 up counts as refused.
    static func answer(_ answer: LocalAnswer, app: App?, reason: String? = nil) -> LocalOutcome {
        LocalOutcome(reply: .answer(answer), app: app, reason: reason)
    }

    /// A refusal that the group's dialect renders.
    static func refused(_ refusal: Refusal, app: App? = nil) -> LocalOutcome {
        LocalOutcome(reply: .refusal(refusal), app: app, reason: nil)
    }
}

extension LocalAnswer {
    /// A JSON answer that nobody keeps.
    static func json(_ status: Int, _ body: [UInt8], extra: [HeaderField] = []) -> LocalAnswer {
        LocalAnswer(
            status: status,
            fields: [
                HeaderField(name: "content-type", value: "application/json"),
                HeaderField(name: "cache-control", value: "no-store"),
            ] + extra,
            body: body
        )
    }
}
