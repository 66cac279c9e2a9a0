// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Testing

@Suite
struct RequestHeadTests {
    @Test
    func `the parts of an ordinary request are where they belong`() throws {
        let head = try parsed("POST /a/b?c=d HTTP/1.1\r\nhost: a.test:8443\r\nX-One: 1\r\nContent-Length: 3\r\n\r\n")
        #expect(head.method == .post)
        #expect(head.target == "/a/b?c=d")
        #expect(head.path == "/a/b")
        #expect(head.query == "c=d")
        #expect(head.authority == "a.test:8443")
        #expect(head.framing == .length(3))
        #expect(head.keepsAlive)
        #expect(head.lines == ["host: a.test:8443", "X-One: 1", "Content-Length: 3"])
    }

    @Test(arguments: [(bytes: 1_000, isKept: true), (bytes: 20_000, isKept: false)])
    func `a head keeps its room for the next one, and gives back that of a large one`(
        _ bytes: Int,
        _ isKept: Bool
    ) throws {
        var parser = RequestParser()
        var head = RequestHead()
        let value = String(repeating: "v", count: bytes)
        _ = try parser.parse(latin1("GET / HTTP/1.1\r\nHost: a\r\nX: \(value)\r\n\r\n").span, into: &head)
        #expect(head.fields.capacity > bytes)
        head.reset()
        #expect((head.fields.capacity > 0) == isKept)
    }

    @Test
    func `no question mark is no query, and a bare one an empty query`() throws {
        #expect(try parsed("GET / HTTP/1.1\r\nHost: a\r\n\r\n").query == nil)
        #expect(try parsed("GET /? HTTP/1.1\r\nHost: a\r\n\r\n").query == "")
        #expect(try parsed("GET /?a?b HTTP/1.1\r\nHost: a\r\n\r\n").query == "a?b")
    }

    @Test(arguments: [
        ("GET http://b.test/x?y", "/x?y", "b.test"), ("GET HTTPS://b.test:1", "/", "b.test:1"),
        ("GET http://b.test?x", "/?x", "b.test"), ("OPTIONS http://b.test", "*", "b.test"),
        ("OPTIONS http://b.test/", "/", "b.test"), ("GET http://[::1]/", "/", "[::1]"),
    ])
    func `an absolute target overrides Host and becomes origin form`(
        _ line: String,
        _ target: String,
        _ authority: String
    ) throws {
        let head = try parsed("\(line) HTTP/1.1\r\nHost: a.test\r\n\r\n")
        #expect(head.target == target)
        #expect(head.authority == authority)
        #expect(head.targetForm == .absolute)
        #expect(head.path == String(target.prefix { $0 != "?" }))
    }

    @Test(arguments: [
        "GET http:///x", "GET http://u@b.test/", "GET ftp://b.test/", "GET http:/b.test/", "GET *", "GET a", "GET /#a",
        "GET http://b.test#x", "GET http://b.test:x/", "GET //\u{e9}",
    ])
    func `other targets are refused`(_ line: String) {
        #expect(violation("\(line) HTTP/1.1\r\nHost: a.test\r\n\r\n") == .malformedTarget)
    }

    @Test
    func `CONNECT is not supported`() {
        #expect(violation("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n") == .methodNotSupported)
        #expect(HTTPViolation.methodNotSupported.status == 501)
    }

    @Test
    func `Host is needed once in 1_1, and not in 1_0`() throws {
        #expect(violation("GET / HTTP/1.1\r\n\r\n") == .missingHost)
        #expect(violation("GET / HTTP/1.1\r\nHost:\r\n\r\n") == .missingHost)
        #expect(violation("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n") == .repeatedHost)
        #expect(violation("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n") == .repeatedHost)
        #expect(try parsed("GET / HTTP/1.0\r\n\r\n").authority == "")
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true), ("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, close\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n", true),
    ])
    func `a connection lives on as version and options say`(_ text: String, _ keepsAlive: Bool) throws {
        #expect(try parsed(text).keepsAlive == keepsAlive)
    }

    @Test
    func `only 100-continue may be expected`() throws {
        #expect(
            try parsed("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n")
                .expectsContinue
        )
        #expect(try !parsed(get("Expect: 100-continue")).expectsContinue)
        #expect(try !parsed("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n").expectsContinue)
        #expect(violation(get("Expect: 200-ok")) == .expectationFailed)
        #expect(HTTPViolation.expectationFailed.status == 417)
    }

    static let handshake = [
        "Connection: keep-alive, Upgrade", "Upgrade: WebSocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]

    static func request(_ lines: [String]) -> String {
        "GET / HTTP/1.1\r\nHost: a.test\r\n" + lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    @Test
    func `a whole handshake asks for WebSocket`() throws {
        #expect(try parsed(Self.request(Self.handshake)).upgrade == .webSocket)
    }

    @Test(arguments: 1..<handshake.count)
    func `a handshake that lacks a field does not`(_ missing: Int) throws {
        var fields = Self.handshake
        fields.remove(at: missing)
        #expect(try parsed(Self.request(fields)).upgrade == (missing == 1 ? .none : .unsupported))
    }

    @Test(arguments: [
        "Upgrade: h2c", "Upgrade: websocket, h2c", "Sec-WebSocket-Version: 12", "Sec-WebSocket-Key: short",
        "Content-Length: 5",
    ])
    func `a handshake with something else in it does not either`(_ line: String) throws {
        #expect(try parsed(Self.request(Self.handshake + [line])).upgrade == .unsupported)
    }

    @Test
    func `Upgrade without its connection option counts as nothing`() throws {
        #expect(try parsed(get("Upgrade: websocket")).upgrade == .none)
    }
}
