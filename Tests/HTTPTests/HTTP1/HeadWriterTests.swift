// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Testing

@testable import HTTP

@Suite
struct HeadWriterTests {
    @Test
    func `fields leave in order and in the sender's case, without hop-by-hop ones`() throws {
        let request =
            "GET /x HTTP/1.1\r\nhOsT: a.test\r\nConnection: close, X-Hop\r\nX-b: 1\r\nx-hop: 2\r\nTE: trailers\r\n"
            + "x-A:  2\r\nSALLYPORT_APP: forged\r\n\r\n"
        var parser = RequestParser()
        var head = RequestHead()
        _ = try parser.parse(latin1(request).span, into: &head)
        var buffer = ByteBuffer()
        HeadWriter.appendRequest(
            head,
            target: head.target,
            host: head.authority,
            skipping: .neverForwarded,
            to: &buffer
        )
        HeadWriter.endHead(&buffer)
        #expect(text(buffer) == "GET /x HTTP/1.1\r\nHost: a.test\r\nX-b: 1\r\nx-A:  2\r\n\r\n")
    }

    @Test
    func `what is written reads as what was read`() throws {
        for test in ConformanceCase.all where test.expectation == "forward" {
            var parser = RequestParser()
            var head = RequestHead()
            guard case .head = try parser.parse(test.raw.span, into: &head) else { continue }
            var buffer = ByteBuffer()
            HeadWriter.appendRequest(head, target: head.target, host: head.authority, skipping: [], to: &buffer)
            HeadWriter.endHead(&buffer)
            var again = RequestHead()
            let progress = try parser.parse(buffer.bytes, into: &again)
            let length = buffer.count
            #expect(progress == .head(consumed: length))
            let first = RequestSnapshot(head)
            let second = RequestSnapshot(again)
            #expect(second.method == first.method && second.framing == first.framing)
            #expect(second.target == first.target && second.authority == first.authority)
            let rest = first.lines.filter { !$0.lowercased().hasPrefix("host:") && !$0.hasPrefix("-") }
            #expect(Array(second.lines.dropFirst()) == rest)
        }
    }

    @Test
    func `a value that would end its line is not written`() {
        var buffer = ByteBuffer()
        for value in ["a\r\nB: c", "a\nb", "a\0", "a\u{7f}"] {
            let isWritten = HeadWriter.appendField("X", value.utf8.span, to: &buffer)
            #expect(!isWritten)
        }
        let isWritten = HeadWriter.appendField("X", "a\tb".utf8.span, to: &buffer)
        #expect(isWritten)
        HeadWriter.appendField("Content-Length", 120, to: &buffer)
        #expect(text(buffer) == "X: a\tb\r\nContent-Length: 120\r\n")
    }

    @Test
    func `an answer keeps its status and reason, and speaks of the gateway in no field`() throws {
        var parser = ResponseParser()
        var head = ResponseHead()
        let bytes = latin1(
            "HTTP/1.0 404 Nope nope\r\nServer: x\r\nConnection: keep-alive\r\nSallyport-Decision: theirs\r\n"
                + "sallyport_trust: theirs\r\nETag: y\r\n\r\n"
        )
        _ = try parser.parse(bytes.span, into: &head, answering: .get)
        var buffer = ByteBuffer()
        HeadWriter.appendResponse(head, skipping: head.fieldsNotRelayed, to: &buffer)
        #expect(text(buffer) == "HTTP/1.1 404 Nope nope\r\nServer: x\r\nETag: y\r\n")
    }

    @Test
    func `what came by HTTP_2 leaves by HTTP_1 with its names in title case`() throws {
        var parser = RequestParser()
        var head = RequestHead()
        let bytes = latin1(
            "GET / HTTP/1.1\r\nhost: a.test\r\nx-one-two: a\r\nuser-agent: y\r\nte: x\r\nx--y: b\r\norgid: c\r\n\r\n"
        )
        _ = try parser.parse(bytes.span, into: &head)
        head.version = .http2
        var buffer = ByteBuffer()
        HeadWriter.appendRequest(head, target: head.target, host: head.authority, skipping: .hopByHop, to: &buffer)
        let sent = "GET / HTTP/1.1\r\nHost: a.test\r\nX-One-Two: a\r\nUser-Agent: y\r\nX--Y: b\r\norgid: c\r\n"
        #expect(text(buffer) == sent)
        var answers = ResponseParser()
        var answer = ResponseHead()
        let answered = latin1("HTTP/1.1 200 OK\r\netag: e\r\nset-cookie: a\r\nset-cookie: b\r\n\r\n")
        _ = try answers.parse(answered.span, into: &answer, answering: .get)
        answer.version = .http2
        buffer.removeAll()
        HeadWriter.appendResponse(answer, skipping: answer.fieldsNotRelayed, to: &buffer)
        #expect(text(buffer) == "HTTP/1.1 200 OK\r\nEtag: e\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n")
    }
}
