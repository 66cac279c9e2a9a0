// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Testing

/// A request's head as plain values, which `#expect` can take.
struct RequestSnapshot {
    var method: HTTP.Method
    var target: String
    var path: String
    var query: String?
    var authority: String
    var targetForm: RequestHead.TargetForm
    var framing: MessageFraming
    var connection: ConnectionOptions
    var keepsAlive: Bool
    var expectsContinue: Bool
    var upgrade: UpgradeRequest
    var lines: [String]

    init(_ head: borrowing RequestHead) {
        method = head.method
        target = head.target.lossyText
        path = head.path.lossyText
        if let query = head.query { self.query = query.lossyText }
        authority = head.authority.lossyText
        targetForm = head.targetForm
        framing = head.framing
        connection = head.connection
        keepsAlive = head.keepsAlive
        expectsContinue = head.expectsContinue
        upgrade = head.upgrade
        lines = HTTPTests.lines(head.fields)
    }
}

/// Reads one whole request given as text.
func parsed(_ text: String) throws -> RequestSnapshot {
    var parser = RequestParser()
    var head = RequestHead()
    let progress = try parser.parse(latin1(text).span, into: &head)
    try #require(progress != .needMore)
    return RequestSnapshot(head)
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
    buffer.bytes.lossyText
}
