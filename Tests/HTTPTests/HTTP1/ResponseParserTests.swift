// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Testing

@Suite
struct ResponseParserTests {
    @Test
    func `an answer without a length ends with its connection`() {
        let answer = Transcript(responses: latin1("HTTP/1.1 200 OK\r\n\r\nhello"))
        #expect(answer.messages.first?.framing == .untilClose)
        #expect(answer.messages.first?.keepsAlive == false)
    }

    @Test(arguments: [
        ("204 No Content", HTTP.Method.get), ("304 Not Modified", .get), ("100 Continue", .get),
        ("101 Switching", .get),
        ("200 OK", .head),
    ])
    func `what can have no body has none, whatever its length`(_ status: String, _ method: HTTP.Method) {
        let answer = Transcript(responses: latin1("HTTP/1.1 \(status)\r\nContent-Length: 5\r\n\r\n"), to: method)
        #expect(answer.messages.first?.framing == MessageFraming.none)
    }

    @Test
    func `an interim head is followed by the final one`() {
        let bytes = latin1("HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(Transcript(responses: bytes).messages.map(\.start) == ["103 Early http11", "200 OK http11"])
    }

    @Test(arguments: [
        "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1 600 X\r\n", "HTTP/1.1 099 X\r\n",
        "HTTP/1.1  200 OK\r\n",
        "HTTP/1.1\t200 OK\r\n", "HTTP/1.1 2x0 OK\r\n", "HTTP/1.1 200\tOK\r\n",
    ])
    func `a malformed status is refused`(_ line: String) {
        #expect(Transcript(responses: latin1(line + "\r\n")).violation == .malformedStatus)
    }

    @Test(arguments: [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", HTTPViolation.lengthAndTransferEncoding),
        ("Content-Length: 5\r\nContent-Length: 5", .repeatedLength), ("Content-Length: -5", .malformedLength),
        ("Transfer-Encoding: gzip", .transferEncodingNotSupported),
    ])
    func `framing in doubt is refused`(_ lines: String, _ expected: HTTPViolation) {
        #expect(Transcript(responses: latin1("HTTP/1.1 200 OK\r\n\(lines)\r\n\r\n")).violation == expected)
        #expect(Transcript(responses: latin1("HTTP/1.1 200 OK\r\n\(lines)\r\n\r\n"), to: .head).violation == expected)
    }

    @Test
    func `chunks in HTTP_1_0 are refused`() {
        let bytes = latin1("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(Transcript(responses: bytes).violation == .transferEncodingNotAllowed)
    }

    @Test(arguments: [
        ("sallyport", true), ("Sallyport; error=x", true), ("\"sallyport\"; error=x", true), ("edge,\tsallyport", true),
        ("sallyport-b", true), ("edge; next-hop=sallyport", false), ("edge", false), ("\"", false), ("sallypor", false),
        ("", false),
    ])
    func `what another server says of itself in our name is dropped`(_ value: String, _ isDropped: Bool) throws {
        var parser = ResponseParser()
        var head = ResponseHead()
        let bytes = latin1("HTTP/1.1 200 OK\r\nProxy-Status: \(value)\r\nProxy-Status: edge\r\n\r\n")
        _ = try parser.parse(bytes.span, into: &head, answering: .get)
        let first = head.fields.isDropped(at: 0)
        let second = head.fields.isDropped(at: 1)
        #expect(first == isDropped)
        #expect(!second)
    }
}
