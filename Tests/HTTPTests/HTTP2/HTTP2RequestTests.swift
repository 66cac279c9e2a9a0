// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Testing

@Suite
struct HTTP2RequestTests {
    static func events(_ fields: [(String, String)], ends: Bool = true) throws -> [String] {
        try RawServer(FrameBytes.start + FrameBytes.headers(fields, ends: ends)).events
    }

    /// The fields of a good request with one replaced or, without a value, left out.
    static func changed(_ name: String, _ value: String?) -> [(String, String)] {
        FrameBytes.get.compactMap { field in field.0 == name ? value.map { (name, $0) } : field }
    }

    @Test
    func `a good request is told of, whole or byte by byte`() throws {
        #expect(try Self.events(FrameBytes.get) == ["head 1", "ended 1"])
        let bytes = FrameBytes.start + FrameBytes.headers(FrameBytes.get)
        #expect(try RawServer(bytes, piece: 1).events == ["head 1", "ended 1"])
    }

    @Test(arguments: [
        (":path", "/a#b"), (":path", "/\u{e9}"), (":path", "a"), (":path", "*"), (":authority", "u@a"),
        (":authority", "a b"),
        (":authority", "a,b"), (":method", "G T"), (":scheme", "gopher"), (":path", nil), (":authority", nil),
        (":method", "CONNECT"), (":path", "/a b"), (":path", ""), (":method", ""), (":path", "/a\r\nX: y"),
    ])
    func `pseudo fields that an upstream could misread never become a request`(_ name: String, _ value: String?) throws
    {
        let events = try Self.events(Self.changed(name, value))
        #expect(!events.contains("head 1"), "\(events)")
    }

    @Test(arguments: [
        ("connection", "close"), ("transfer-encoding", "chunked"), ("upgrade", "h2c"), ("keep-alive", "x"),
        ("proxy-connection", "x"), ("te", "gzip"), ("X-Upper", "x"), ("x y", "z"), ("x", "a\r\nb"), ("x", "a\0b"),
        ("x", " a"), ("x", "a\t"),
        ("", "x"), ("host", "b.test"), ("content-length", "5"), ("content-length", "x"), (":path", "/b"),
        ("expect", "200-ok"),
    ])
    func `fields that an upstream could misread never become a request`(_ name: String, _ value: String) throws {
        let events = try Self.events(FrameBytes.get + [(name, value)])
        #expect(!events.contains("head 1"), "\(events)")
    }

    @Test
    func `Host alone will do, and may repeat the authority`() throws {
        #expect(try Self.events(Self.changed(":authority", nil) + [("host", "a.test")]) == ["head 1", "ended 1"])
        #expect(try Self.events(FrameBytes.get + [("host", "A.test")]) == ["head 1", "ended 1"])
    }

    @Test
    func `crumbs of a cookie are one field`() throws {
        let pair = try SessionPair()
        let bytes =
            FrameBytes.start
            + FrameBytes.headers(FrameBytes.get + [("cookie", "a=1"), ("x", "y"), ("cookie", "b=2")])
        try pair.server.receive(bytes.span, now: 0)
        guard case .head(let stream) = pair.server.nextEvent() else {
            Issue.record("no request")
            return
        }
        #expect(lines(stream.request.fields) == ["x: y", "cookie: a=1; b=2"])
        let isRepeated = stream.request.fields.isRepeated(.cookie)
        #expect(!isRepeated)
    }

    @Test
    func `a body that is shorter or longer than its length is cut off`() throws {
        let head = FrameBytes.headers(
            Self.changed(":method", "POST") + [("content-length", "5")],
            ends: false
        )
        for body in ["1234", "123456"] {
            let data = FrameBytes.frame(0, flags: 1, stream: 1, latin1(body))
            let server = try RawServer(FrameBytes.start + head + data)
            #expect(!server.events.contains("ended 1"), "\(server.events)")
            #expect(server.events.last == "closed 1 1")
        }
        let data = FrameBytes.frame(0, flags: 1, stream: 1, latin1("12345"))
        #expect(try RawServer(FrameBytes.start + head + data).events == ["head 1", "data 1", "ended 1"])
    }

    @Test
    func `heads beyond the limits are answered, not stored`() throws {
        let many = (0..<120).map { ("x-\($0)", "y") }
        #expect(try Self.events(FrameBytes.get + many) == ["refused 1 too_many_fields"])
        let large = [("x", String(repeating: "y", count: 33_000))]
        let limits = HTTP2Settings().heads
        #expect(limits.fieldBytes < 33_000)
        let block = FrameBytes.block(FrameBytes.get + large)
        let pieces =
            FrameBytes.frame(1, flags: 1, stream: 1, Array(block.prefix(16_384)))
            + FrameBytes.frame(9, stream: 1, Array(block.dropFirst(16_384).prefix(16_384)))
            + FrameBytes.frame(9, flags: 4, stream: 1, Array(block.dropFirst(32_768)))
        #expect(try RawServer(FrameBytes.start + pieces).events == ["refused 1 fields_too_large"])
        let path = "/" + String(repeating: "a", count: 9000)
        #expect(try Self.events(Self.changed(":path", path)) == ["refused 1 start_line_too_long"])
    }

    /// No table has room for such a name, however large a head is let in.
    @Test(arguments: [(65_535, "head 1"), (65_536, "refused 1 fields_too_large")])
    func `a name of 64 KiB is refused where the limits would let it in`(_ length: Int, _ event: String) throws {
        var settings = HTTP2Settings()
        settings.heads.fieldBytes = 256 << 10
        let pair = try SessionPair(server: settings)
        let block = FrameBytes.block(FrameBytes.get + [(String(repeating: "a", count: length), "x")])
        var pieces = FrameBytes.frame(1, flags: 1, stream: 1, Array(block.prefix(16_384)))
        for start in stride(from: 16_384, to: block.count, by: 16_384) {
            let isLast = start + 16_384 >= block.count
            pieces += FrameBytes.frame(9, flags: isLast ? 4 : 0, stream: 1, Array(block[start...].prefix(16_384)))
        }
        try pair.server.receive((FrameBytes.start + pieces).span, now: 0)
        pair.run()
        #expect(pair.serverEvents.first == event)
    }

    @Test
    func `a refused head can be asked about`() throws {
        for fields in [FrameBytes.get.filter { $0.0 != ":authority" }, [(":path", "/a?b"), ("x", "y")], [("x", "y")]] {
            let pair = try SessionPair()
            let many = fields + (0..<120).map { ("x-\($0)", "y") }
            try pair.server.receive((FrameBytes.start + FrameBytes.headers(many)).span, now: 0)
            while let event = pair.server.nextEvent() {
                guard case .refused(let stream, _) = event else { continue }
                let snapshot = RequestSnapshot(stream.request)
                #expect(snapshot.lines.count == 100)
            }
        }
    }

    @Test
    func `a body after a refused head is not kept`() throws {
        let many = (0..<120).map { ("x-\($0)", "y") }
        let bytes =
            FrameBytes.start + FrameBytes.headers(Self.changed(":method", "POST") + many, ends: false)
            + FrameBytes.frame(0, flags: 1, stream: 1, latin1("12345"))
        #expect(try RawServer(bytes).events == ["refused 1 too_many_fields"])
    }

    @Test
    func `streams that are over take no more, and those passed over can never be used`() throws {
        let reset = FrameBytes.frame(3, stream: 1, [0, 0, 0, 8])
        let open = FrameBytes.start + FrameBytes.headers(FrameBytes.get, ends: false)
        for late in [FrameBytes.frame(0, stream: 1, [1]), FrameBytes.headers(FrameBytes.get)] {
            #expect(try RawServer(open + reset + late).endings == ["goaway 5"])
        }
        let skipping = FrameBytes.start + FrameBytes.headers(FrameBytes.get, stream: 5)
        #expect(try RawServer(skipping + FrameBytes.headers(FrameBytes.get, stream: 3)).endings == ["goaway 1"])
        #expect(try RawServer(skipping + FrameBytes.headers(FrameBytes.get, stream: 7)).endings.isEmpty)
    }

    @Test
    func `what was on its way when we reset a stream is borne`() throws {
        let bad = FrameBytes.start + FrameBytes.headers(FrameBytes.get + [("connection", "close")], ends: false)
        let late = FrameBytes.frame(0, stream: 1, [1]) + FrameBytes.headers([("x", "y")])
        // The reset is sent before the rest is read only where the pieces are small.
        let server = try RawServer(bad + late + FrameBytes.headers(FrameBytes.get, stream: 3), piece: 1)
        #expect(server.endings == ["reset 1"])
        #expect(server.events.contains("head 3"))
    }
}
