// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Testing

@Suite
struct ChunkedDecoderTests {
    static func read(_ body: String, cuts: [Int] = [Int.max], limits: ParserLimits = ParserLimits()) -> Transcript {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        return Transcript(requests: latin1(head + body), cuts: cuts, limits: limits)
    }

    @Test(arguments: [
        "5\r\nhello\r\n0\r\n\r\n", "05;a\r\nhello\r\n000\r\n\r\n", "5;a=b;c=\"d;\\\"e\"\r\nhello\r\n0;x\r\n\r\n",
        "2 ; a = b\r\nhe\r\n3\t;\tc\r\nllo\r\n0\r\n\r\n", "5;a=\"\"\r\nhello\r\n0\r\n\r\n",
    ])
    func `sizes and extensions are read`(_ body: String) {
        for cuts in [[Int.max], [1], [3], [63, 2]] {
            let transcript = Self.read(body, cuts: cuts)
            #expect(transcript.violation == nil)
            #expect(transcript.messages.first?.body == latin1("hello"))
            #expect(transcript.messages.first?.isComplete == true)
        }
    }

    @Test(arguments: [
        ("5;\r\n", HTTPViolation.malformedChunkExtension), ("5;=a\r\n", .malformedChunkExtension),
        ("5;a=\r\n", .malformedChunkExtension), ("5;a b\r\n", .malformedChunkExtension),
        ("5;a=\"b\r\n", .malformedChunkExtension), ("5;a=\"b\"c\r\n", .malformedChunkExtension),
        ("5;a=b c\r\n", .malformedChunkExtension), ("5 \r\n", .malformedChunkExtension),
        ("5 6\r\n", .malformedChunkExtension), ("5\n", .bareLineFeed), ("5\rX", .bareCarriageReturn),
        ("5;a\n", .bareLineFeed), ("\r\n", .malformedChunkSize), ("x\r\n", .malformedChunkSize),
        ("10000000000000000\r\n", .malformedChunkSize), ("8000000000000000\r\n", .malformedChunkSize),
        ("1\r\nab\r\n", .malformedChunkEnd), ("1\r\na\rb", .malformedChunkEnd), ("1\r\na\n0", .malformedChunkEnd),
    ])
    func `anything else is refused`(_ body: String, _ expected: HTTPViolation) {
        #expect(Self.read(body).violation == expected)
        #expect(Self.read(body, cuts: [1]).violation == expected)
    }

    @Test
    func `extensions are limited by line and by body`() {
        let long = String(repeating: "a", count: 300)
        #expect(Self.read("1;\(long)\r\na\r\n0\r\n\r\n").violation == .chunkExtensionTooLong)
        var limits = ParserLimits()
        limits.chunkExtensions = 10
        let chunk = "1;ab\r\nx\r\n"
        #expect(
            Self.read(chunk + chunk + chunk + chunk + "0\r\n\r\n", limits: limits).violation == .chunkExtensionTooLong
        )
        #expect(Self.read(chunk + chunk + chunk + "0\r\n\r\n", limits: limits).violation == nil)
    }

    @Test
    func `trailers are kept, and what may not be one is marked`() {
        let transcript = Self.read(
            "0\r\nX-Sum: 1\r\nAuthorization: x\r\ngrpc-status: 0\r\nsallyport_x: y\r\n\r\n",
            cuts: [5]
        )
        #expect(
            transcript.messages.first?.trailers
                == ["X-Sum: 1", "-Authorization: x", "grpc-status: 0", "-sallyport_x: y"]
        )
    }

    @Test
    func `what the encoder writes the decoder reads`() {
        var random = Seeded(state: 3)
        for _ in 0..<200 {
            var buffer = ByteBuffer()
            buffer.append("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            var expected: [UInt8] = []
            for _ in 0..<Int.random(in: 0...5, using: &random) {
                let chunk = (0..<Int.random(in: 0...400, using: &random)).map { UInt8(truncatingIfNeeded: $0) }
                ChunkedEncoder.append(chunk.span, to: &buffer)
                expected += chunk
            }
            ChunkedEncoder.appendEnd(trailers: FieldTable(), skipping: [], to: &buffer)
            var bytes: [UInt8] = []
            for index in buffer.bytes.indices { bytes.append(buffer.bytes[index]) }
            let transcript = Transcript(requests: bytes, cuts: [Int.random(in: 1...50, using: &random)])
            #expect(transcript.messages.first?.body == expected)
            #expect(transcript.messages.first?.isComplete == true)
        }
    }
}
