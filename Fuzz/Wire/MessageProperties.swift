// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP

/// What must hold for HTTP/1.1: any two ways of cutting the same bytes give the same messages, and what is written for
/// an upstream has the one reading that was judged.
package enum MessageProperties {
    /// Requests of a client.
    package static func requests(_ bytes: [UInt8]) {
        let whole = MessageReading(requests: bytes, pieces: [0..<bytes.count])
        var cuts = Cuts(of: bytes)
        let cut = MessageReading(requests: bytes, pieces: cuts.pieces(of: bytes.count))
        require(whole == cut, "two ways of cutting requests differ")
        if bytes.count <= 512 {
            let single = MessageReading(requests: bytes, pieces: (0..<bytes.count).map { $0..<$0 + 1 })
            require(whole == single, "requests byte by byte differ")
        }
        writeAgain(bytes)
    }

    /// The first head, written as for an upstream, is read as what it was.
    private static func writeAgain(_ bytes: [UInt8]) {
        var parser = RequestParser()
        var head = RequestHead()
        guard case .head = try? parser.parse(bytes.span, into: &head) else { return }
        // HTTP/1.0 may leave out the host; the gateway then names the endpoint's own.
        guard head.authority.count > 0 else { return }
        var written = ByteBuffer()
        HeadWriter.appendRequest(
            head,
            target: head.target,
            host: head.authority,
            skipping: .neverForwarded,
            to: &written
        )
        if case .chunked = head.framing { written.append("Transfer-Encoding: chunked\r\n") }
        if case .length(let length) = head.framing, !head.fields.contains(.contentLength) {
            HeadWriter.appendField("Content-Length", Int(clamping: length), to: &written)
        }
        HeadWriter.endHead(&written)
        var second = RequestParser()
        var again = RequestHead()
        let length = written.count
        let progress = try? second.parse(written.bytes, into: &again)
        require(progress == .head(consumed: length), "what was written for an upstream is not one whole request")
        require(again.target.array == head.target.array, "the target changed")
        require(again.authority.array == head.authority.array, "the host changed")
        require(again.framing.hasBody == head.framing.hasBody, "the framing changed")
    }

    /// Answers of an upstream to a method that the first byte picks.
    package static func responses(_ bytes: [UInt8]) {
        let methods: [HTTP.Method] = [.get, .head, .connect, .post]
        let method = methods[Int(bytes.first ?? 0) & 3]
        let bytes = Array(bytes.dropFirst())
        let whole = MessageReading(responses: bytes, to: method, pieces: [0..<bytes.count])
        var cuts = Cuts(of: bytes)
        let cut = MessageReading(responses: bytes, to: method, pieces: cuts.pieces(of: bytes.count))
        require(whole == cut, "two ways of cutting answers differ")
        if bytes.count <= 512 {
            let single = MessageReading(responses: bytes, to: method, pieces: (0..<bytes.count).map { $0..<$0 + 1 })
            require(whole == single, "answers byte by byte differ")
        }
    }

    /// A chunked body alone; what it holds, chunked by our encoder, is read as the same.
    package static func chunked(_ bytes: [UInt8]) {
        let head = Array("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        let all = head + bytes
        let whole = MessageReading(requests: all, pieces: [0..<all.count])
        var cuts = Cuts(of: bytes)
        let cut = MessageReading(requests: all, pieces: cuts.pieces(of: all.count))
        require(whole == cut, "two ways of cutting chunks differ")
        guard let first = whole.messages.first, first.isComplete else { return }
        var encoded = ByteBuffer()
        encoded.append(contentsOf: head)
        ChunkedEncoder.append(first.body.span, to: &encoded)
        ChunkedEncoder.appendEnd(trailers: FieldTable(), skipping: [], to: &encoded)
        let again = encoded.bytes.array
        let second = MessageReading(requests: again, pieces: [0..<again.count])
        require(second.messages.first?.body == first.body, "a body changed when it was chunked again")
    }
}
