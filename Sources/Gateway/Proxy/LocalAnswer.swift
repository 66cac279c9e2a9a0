// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP

/// An answer the gateway makes itself: a refusal, a preflight, a redirect.
struct LocalAnswer: Sendable {
    var status: Int
    var fields: [HeaderField]
    var body: [UInt8] = []
    /// The connection carries no further request.
    var closesConnection = false

    /// Appends the HTTP/1.1 form; `isHead` leaves the body out and keeps its length (RFC 9110 9.3.2).
    func append(isHead: Bool, closes: Bool, date: Span<UInt8>, to buffer: inout ByteBuffer) {
        HeadWriter.appendStatusLine(status, to: &buffer)
        HeadWriter.appendField("Date", date, to: &buffer)
        for field in fields {
            buffer.append(utf8: field.name)
            buffer.append(": ")
            buffer.append(utf8: field.value)
            buffer.append("\r\n")
        }
        if status != 204 { HeadWriter.appendField("Content-Length", body.count, to: &buffer) }
        if closes { buffer.append("Connection: close\r\n") }
        buffer.append("\r\n")
        if !isHead, status != 204 { buffer.append(contentsOf: body) }
    }
}
