// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Testing

extension HTTP2SessionTests {
    @Test
    func `an early answer ends the upload without an error`() throws {
        let pair = try SessionPair()
        let stream = try pair.request("POST / HTTP/1.1\r\nHost: a.test\r\n\r\n", hasBody: true)
        pair.client.write("some".utf8.span, to: stream)
        pair.onServer = { server, event in
            guard case .head(let stream) = event else { return }
            pair.respond(stream, 401, body: "no")
            server.ignoreInbound(of: stream)
        }
        pair.run()
        #expect(stream.response.status == 401)
        #expect(text(stream.inbound) == "no")
        #expect(pair.clientEvents.last == "ended 1")
        pair.server.tick(now: HTTP2Settings().linger)
        pair.run()
        #expect(pair.clientEvents.last == "closed 1 0")
        #expect(pair.serverEvents == ["head 1", "closed 1 0"])
    }

    @Test
    func `cancelling reaches the other side`() throws {
        let pair = try SessionPair()
        let stream = try pair.request("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        pair.run()
        pair.client.reset(stream, .cancel)
        pair.run()
        #expect(pair.serverEvents == ["head 1", "ended 1", "closed 1 8"])
        // Late commands for a stream that is over do nothing.
        pair.respond(try #require(pair.streams[1]), 200, body: "late")
        pair.run()
        #expect(pair.failure == nil)
    }

    @Test
    func `a draining server finishes what it has and takes no more`() throws {
        let pair = try SessionPair()
        let stream = try pair.request("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        pair.run()
        pair.server.announceShutdown()
        pair.run()
        pair.server.goAway()
        pair.run()
        #expect(pair.clientEvents == ["goaway 2147483647 0", "goaway 1 0"])
        #expect(!pair.server.isOver)
        pair.respond(try #require(pair.streams[1]), 200, body: "x")
        pair.run()
        #expect(stream.response.status == 200)
        #expect(pair.server.isOver)
    }

    @Test
    func `streams beyond the last of a GOAWAY are refused, to be sent again elsewhere`() throws {
        let pair = try SessionPair()
        pair.run()
        pair.server.goAway()
        _ = try pair.request("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        pair.run()
        #expect(pair.clientEvents.contains("closed 1 7"))
        #expect(pair.serverEvents == [])
    }

    @Test
    func `recycled streams carry nothing over`() throws {
        let pair = try SessionPair()
        pair.onServer = { server, event in
            if case .ended(let stream) = event { pair.respond(stream, 200, body: "x") }
            if case .closed(let stream, _) = event { server.recycle(stream) }
        }
        pair.onClient = { client, event in
            if case .closed(let stream, _) = event { client.recycle(stream) }
        }
        for round in 0..<20 {
            let stream = try pair.request("GET /\(round) HTTP/1.1\r\nHost: a.test\r\nX-\(round): 1\r\n\r\n")
            pair.run()
            let left = stream.inbound.count
            #expect(left == 0)
        }
        #expect(pair.failure == nil)
        // A hundred at a time are allowed: nothing is left of the twenty.
        #expect(pair.client.room == 100)
    }

    @Test
    func `sessions that share a pool share streams that are over, emptied`() throws {
        let pool = HTTP2StreamPool(limit: 1)
        var seen: [ObjectIdentifier] = []
        for _ in 0..<2 {
            let session = try #require(HTTP2Session(.server, pool: pool))
            try session.receive((FrameBytes.start + FrameBytes.headers(FrameBytes.get + [("x", "y")])).span, now: 0)
            guard case .head(let stream) = session.nextEvent() else {
                Issue.record("no request")
                return
            }
            seen.append(ObjectIdentifier(stream))
            #expect(lines(stream.request.fields) == ["x: y"])
            session.reset(stream, .cancel)
            var output = ByteBuffer()
            try session.send(into: &output, limit: 1 << 16)
            while let event = session.nextEvent() {
                if case .closed(let stream, _) = event { session.recycle(stream) }
            }
        }
        #expect(seen[0] == seen[1])
    }
}
