// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Testing

@Suite
struct HTTP2SessionTests {
    @Test(arguments: [Int.max, 1, 7])
    func `a request and its answer cross whole`(_ piece: Int) throws {
        let pair = try SessionPair()
        pair.piece = piece
        let stream = try pair.request(
            "POST /a?b HTTP/1.1\r\nHost: a.test\r\nX-One: 1\r\nConnection: x-two\r\nX-Two: 2\r\nTE: trailers\r\n"
                + "Authorization: Bearer x\r\n\r\n",
            hasBody: true
        )
        pair.client.write("hello".utf8.span, to: stream)
        pair.client.end(stream, trailers: table([("x-sum", "9"), ("host", "b.test")]), skipping: [])
        pair.onServer = { _, event in
            if case .ended(let stream) = event {
                pair.respond(stream, 200, [("Content-Type", "text/plain")], body: "world")
            }
        }
        pair.run()
        #expect(pair.failure == nil)
        #expect(pair.serverEvents == ["head 1", "data 1", "ended 1", "closed 1 0"])
        #expect(pair.clientEvents == ["head 1", "data 1", "ended 1", "closed 1 0"])
        let answer = stream.response.status
        #expect(answer == 200)
        #expect(lines(stream.response.fields) == ["content-type: text/plain"])
        #expect(text(stream.inbound) == "world")
    }

    @Test
    func `the server sees what was asked, and trailers that may not be are marked`() throws {
        let pair = try SessionPair()
        let stream = try pair.request(
            "POST /a?b HTTP/1.1\r\nHost: a.test\r\nX-One: 1\r\nTE: trailers, x\r\nCookie: a=1\r\n\r\n",
            hasBody: true,
            adding: [("Sallyport-App", "app_1")]
        )
        pair.client.write("hello".utf8.span, to: stream)
        pair.client.end(stream, trailers: table([("x-sum", "9"), ("authorization", "x")]), skipping: [])
        var head: RequestSnapshot?
        var body = ""
        var trailers: [String] = []
        pair.onServer = { _, event in
            if case .head(let stream) = event { head = RequestSnapshot(stream.request) }
            if case .ended(let stream) = event {
                body = text(stream.inbound)
                trailers = lines(stream.trailers)
            }
        }
        pair.run()
        #expect(head?.method == .post && head?.target == "/a?b" && head?.path == "/a" && head?.query == "b")
        #expect(head?.authority == "a.test" && head?.framing == .chunked && head?.keepsAlive == true)
        #expect(head?.lines == ["x-one: 1", "te: trailers", "sallyport-app: app_1", "cookie: a=1"])
        #expect(body == "hello")
        #expect(trailers == ["x-sum: 9", "-authorization: x"])
    }

    @Test
    func `interim answers come before the final one, and an answer may be a head alone`() throws {
        let pair = try SessionPair()
        let stream = try pair.request("HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        pair.onServer = { server, event in
            guard case .head(let stream) = event else { return }
            let hints = table([("link", "x")])
            server.respondInterim(stream, status: 103, fields: hints, skipping: [])
            pair.respond(stream, 200, [("content-length", "5")])
        }
        pair.run()
        let framing = stream.response.framing
        #expect(framing == .none)
        #expect(pair.clientEvents == ["interim 1 103", "head 1", "ended 1", "closed 1 0"])
    }

    @Test(arguments: [0, 1, 100])
    func `interim answers beyond what one request may have are no answer`(_ beyond: Int) throws {
        let pair = try SessionPair()
        _ = try pair.request("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        pair.onServer = { server, event in
            guard case .head(let stream) = event else { return }
            let hints = table([("link", "x")])
            for _ in 0..<InterimTally.mostAnswers + beyond {
                server.respondInterim(stream, status: 103, fields: hints, skipping: [])
            }
            pair.respond(stream, 200, [("content-length", "0")])
        }
        pair.run()
        let relayed = pair.clientEvents.filter { $0.hasPrefix("interim") }.count
        #expect(relayed == InterimTally.mostAnswers)
        let isRefused = pair.clientEvents.contains { $0 == "refused 1 too_many_interim_answers" }
        #expect(isRefused == (beyond > 0))
        #expect(pair.clientEvents.contains("head 1") == (beyond == 0))
    }

    @Test
    func `answers may end with trailers`() throws {
        let pair = try SessionPair()
        let stream = try pair.request("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        pair.onServer = { server, event in
            guard case .head(let stream) = event else { return }
            let none = FieldTable()
            server.respond(stream, status: 200, fields: none, skipping: [], adding: "".utf8.span, hasBody: true)
            server.write("x".utf8.span, to: stream)
            server.end(stream, trailers: table([("grpc-status", "0"), ("Connection", "close")]), skipping: [])
        }
        pair.run()
        let trailers = lines(stream.trailers)
        #expect(trailers == ["grpc-status: 0"])
    }

    @Test
    func `a sender waits for credit, and gets on with it`() throws {
        var settings = HTTP2Settings()
        settings.streamWindow = 65_535
        settings.connectionWindow = 65_535
        let pair = try SessionPair(server: settings)
        let stream = try pair.request("POST / HTTP/1.1\r\nHost: a.test\r\n\r\n", hasBody: true)
        let chunk = [UInt8](repeating: 7, count: 200_000)
        pair.client.write(chunk.span, to: stream)
        pair.client.end(stream)
        pair.run()
        let seen = try #require(pair.streams[1])
        let first = seen.inbound.count
        #expect(first == 65_535)
        #expect(stream.outboundCount == 200_000 - 65_535)
        for _ in 0..<3 {
            let count = seen.inbound.count
            seen.inbound.consume(count)
            pair.server.credit(count, of: seen)
            pair.run()
        }
        #expect(stream.outboundCount == 0)
        #expect(pair.clientEvents.contains("drained 1"))
        #expect(pair.serverEvents.last == "ended 1")
    }

    @Test
    func `bytes of one stream that are not taken do not stop the others for ever`() throws {
        var settings = HTTP2Settings()
        settings.streamWindow = 65_535
        settings.connectionWindow = 65_535
        let pair = try SessionPair(server: settings)
        let body = [UInt8](repeating: 7, count: 65_535)
        let first = try pair.request("POST / HTTP/1.1\r\nHost: a.test\r\n\r\n", hasBody: true)
        pair.client.write(body.span, to: first)
        pair.run()
        let second = try pair.request("POST / HTTP/1.1\r\nHost: a.test\r\n\r\n", hasBody: true)
        pair.client.write("x".utf8.span, to: second)
        pair.run()
        #expect(second.outboundCount == 1)
        // Giving the first up credits the connection for what it held.
        pair.server.reset(try #require(pair.streams[1]), .cancel)
        pair.run()
        #expect(second.outboundCount == 0)
        #expect(pair.clientEvents.contains("closed 1 8"))
    }

    @Test
    func `a ping is answered`() throws {
        let pair = try SessionPair()
        pair.client.ping()
        pair.run()
        #expect(pair.clientEvents == ["pong"])
    }

    @Test
    func `a client knows how many streams it may open`() throws {
        var settings = HTTP2Settings()
        settings.concurrentStreams = 3
        let pair = try SessionPair(server: settings)
        pair.run()
        #expect(pair.client.room == 3)
        _ = try pair.request("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        #expect(pair.client.room == 2)
    }

    @Test
    func `an answer that nobody takes holds up no other`() throws {
        var settings = HTTP2Settings.upstream
        settings.streamWindow = 65_535
        settings.connectionWindow = 65_535
        let pair = try SessionPair(client: settings)
        let slow = try pair.request("GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n")
        pair.onServer = { _, event in
            if case .head(let stream) = event {
                pair.respond(stream, 200, body: String(repeating: "x", count: 100_000))
            }
        }
        pair.run()
        #expect(slow.inbound.count == 65_535 && !slow.isInboundEnded)
        let quick = try pair.request("GET /quick HTTP/1.1\r\nHost: a.test\r\n\r\n")
        pair.run()
        #expect(quick.inbound.count == 65_535)
        pair.client.credit(65_535, of: slow)
        pair.run()
        #expect(slow.inbound.count == 100_000 && slow.isInboundEnded)
    }

    @Test
    func `fields given as lines arrive in lower case with their values as they are`() throws {
        let pair = try SessionPair()
        let stream = try pair.request("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        pair.onServer = { server, event in
            guard case .head(let stream) = event else { return }
            let lines = latin1("X-One: a: b\r\nEmpty: \r\nSet-Cookie: c=d\r\n")
            let none = FieldTable()
            server.respond(stream, status: 200, fields: none, skipping: [], adding: lines.span, hasBody: false)
        }
        pair.run()
        #expect(lines(stream.response.fields) == ["x-one: a: b", "empty: ", "set-cookie: c=d"])
    }
}
