// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Store
import Testing

@testable import Gateway

@Suite struct ChangeWordingTests {
    private let members: [(String, JSONValue)] = [("message", .string("key k is revoked")), ("id", .string("k"))]
    private let behind = Confirmation.pending(effectiveBy: 1_000, waitingFor: ["one worker 2"])

    private func text(_ members: [(String, JSONValue)]) -> String {
        var writer = JSONWriter()
        writer.value(.object(members))
        return writer.text
    }

    @Test func `what follows is promised once every worker knows`() {
        let told = Confirmation.confirmed.worded(members, promise: AdminRoutes.refusedFromNow)
        #expect(text(told) == #"{"message":"key k is revoked; it is refused from the next request on","id":"k"}"#)
        #expect(text(Confirmation.confirmed.worded(members, promise: nil)) == text(members))
    }

    @Test func `before that the message says that not every worker has confirmed it`() {
        for promise in [AdminRoutes.refusedFromNow, nil] {
            let told = text(behind.worded(members, promise: promise))
            #expect(told == #"{"message":"key k is revoked, but not every worker has confirmed it yet","id":"k"}"#)
        }
        #expect(
            text(behind.members)
                == #"{"confirmed":false,"effective_by":"1970-01-01T00:00:01Z","waiting_for":["one worker 2"]}"#
        )
    }
}
