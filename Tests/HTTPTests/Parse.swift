// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Testing

/// Reads one request given as text, and hands its head to `check`.
func withRequest(
    _ text: String,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ check: (borrowing RequestHead) -> Void
) {
    var parser = RequestParser()
    var head = RequestHead()
    do {
        guard case .head = try parser.parse(latin1(text).span, into: &head) else {
            Issue.record("the request is not complete", sourceLocation: sourceLocation)
            return
        }
        check(head)
    } catch {
        Issue.record("refused: \(error.rawValue)", sourceLocation: sourceLocation)
    }
}

/// Why `text` is refused as a request; nil when it is not.
func violation(_ text: String, limits: ParserLimits = ParserLimits()) -> HTTPViolation? {
    Transcript(requests: latin1(text), limits: limits).violation
}

/// A request for `/` with these field lines after `Host`.
func get(_ lines: String...) -> String {
    "GET / HTTP/1.1\r\nHost: a.test\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
}

/// The readable bytes as text.
func text(_ buffer: borrowing ByteBuffer) -> String {
    buffer.bytes.text
}
