// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Testing

@Suite
struct ConnectionOptionsTests {
    @Test
    func `members of all Connection fields count`() throws {
        #expect(
            try parsed(get("Connection: , close ,", "X: 1", "CONNECTION: TE,upgrade")).connection == [
                .close, .te, .upgrade,
            ]
        )
    }

    @Test
    func `fields that are named are dropped, wherever they stand and however often`() throws {
        #expect(
            try parsed(get("x-foo: 1", "Connection: X-Foo", "X-FOO: 2", "X-Fo: 3")).lines.filter { $0.hasPrefix("-") }
                == ["-x-foo: 1", "-X-FOO: 2"]
        )
    }

    @Test(arguments: [
        "Host", "Content-Length", "authorization", "Origin", "X-App-Id", "orgid", "Cookie", "X-Forwarded-For", "Via",
    ])
    func `naming a field that is judged or framed by is refused`(_ name: String) {
        #expect(violation(get("Connection: \(name)")) == .connectionNamesEndToEndField)
    }

    @Test(arguments: ["Keep-Alive", "Transfer-Encoding", "HTTP2-Settings", "Sallyport-App", "content_length"])
    func `naming what never passes anyway is let pass`(_ name: String) {
        #expect(violation(get("Connection: \(name)")) == nil)
    }

    @Test
    func `members must be tokens, and not too many`() {
        #expect(violation(get("Connection: a b")) == .malformedConnection)
        #expect(violation(get("Connection: \"close\"")) == .malformedConnection)
        let many = (0..<33).map { "x\($0)" }.joined(separator: ",")
        #expect(violation(get("Connection: \(many)")) == .malformedConnection)
        #expect(violation(get("Connection: \(many.dropLast(4))")) == nil)
    }
}
