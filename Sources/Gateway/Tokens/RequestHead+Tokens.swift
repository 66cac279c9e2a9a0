// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP
import Transport

extension RequestHead {
    /// Judges the token in a field; something of another scheme in `Authorization` is no token of ours.
    @Reactor
    func judgeToken(
        in field: KnownField,
        as use: TokenUse,
        by judge: TokenJudge,
        from client: IPAddress,
        now: Int64,
        waiter: () -> TokenQueue.Waiter
    ) -> TokenStep {
        guard let value = fields.first(field) else { return .known(.absent) }
        guard let place = Self.place(of: field, value) else {
            let isBearer = field != .authorization || BearerField.startsWithScheme(authorization: value)
            return .known(isBearer ? .bad(.malformed) : .absent)
        }
        return judge.judge(value.extracting(place), as: use, from: client, now: now, waiter: waiter)
    }

    /// What is known of the token in a field that was seen before.
    @Reactor
    func seenToken(in field: KnownField, as use: TokenUse, by judge: TokenJudge, now: Int64) -> TokenKnowledge? {
        guard let value = fields.first(field), let place = Self.place(of: field, value) else { return nil }
        return judge.seen(value.extracting(place), as: use, now: now)
    }

    private static func place(of field: KnownField, _ value: Span<UInt8>) -> Range<Int>? {
        field == .authorization
            ? BearerField.place(authorization: value) : BearerField.place(clientAuthorization: value)
    }

    /// Whether the bearer token is of the form of run tokens.
    var bearsRunToken: Bool {
        guard let value = fields.first(.authorization), let place = BearerField.token(authorization: value) else {
            return false
        }
        return value.extracting(place.range).starts("rt_")
    }

    /// The run token and what it must be bound to.
    var runToken: (token: [UInt8], binding: RunTokenBinding) {
        var token: [UInt8] = []
        if let value = fields.first(.authorization), let place = BearerField.token(authorization: value) {
            token = place.range.map { value[$0] }
        }
        let binding = RunTokenBinding(
            device: text(named: "x-device-id"),
            version: text(named: "x-app-version"),
            platform: text(named: "x-app-platform")
        )
        return (token, binding)
    }

    /// The one value of a field by its lower-case name; empty when it did not come, or came twice.
    private func text(named name: String) -> String {
        guard let index = fields.firstIndex(named: name.utf8.span, from: 0),
            fields.firstIndex(named: name.utf8.span, from: index + 1) == nil
        else { return "" }
        let value = fields.value(at: index)
        return value.lossyText
    }
}
