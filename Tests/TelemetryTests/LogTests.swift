// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Telemetry
import Testing

@Suite struct LogTests {
    private let time = Timestamp(milliseconds: 1_789_643_937_042)

    @Test func `a text line has time, level, role and quoted fields`() {
        let line = Log(role: "control").render(.info, "reloaded", ["file": "a b", "workers": "2"], at: time)
        #expect(line == "2026-09-17T11:18:57.042Z info    control: reloaded file=\"a b\" workers=2\n")
    }

    @Test func `a JSON line escapes what would break it`() {
        let line = Log(format: .json, role: "worker 0").render(.error, "a \"b\"\n", ["x": "\u{1}\\"], at: time)
        #expect(
            line == #"{"ts":"2026-09-17T11:18:57.042Z","level":"error","role":"worker 0","#
                + #""message":"a \"b\"\n","x":"\u0001\\"}"# + "\n"
        )
    }

    @Test func `a secret shows in no description`() {
        let secret = Secret("hunter2")
        #expect(!"\(secret) \(String(reflecting: secret))".contains("hunter2"))
        #expect(Mirror(reflecting: secret).children.isEmpty)
        #expect(secret.exposed == "hunter2")
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_102_444_799_999, "2099-12-31T23:59:59.999Z"), (-1, "1969-12-31T23:59:59.999Z"),
        ] as [(Int64, String)]
    )
    func `a timestamp is the civil date in UTC`(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).text == text)
    }
}
