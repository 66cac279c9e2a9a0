// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension ResponseHead {
    /// Decides what the fields together mean.
    mutating func complete(answering method: Method) throws(HTTPViolation) {
        connection = try fields.readConnection()
        fields.dropPosedProxyStatus()
        framing = try MessageFraming(ofResponse: fields, version: version, status: status, answering: method)
        // RFC 9112 6.1 forbids a body here; an upstream that announces one anyway may send it, so the connection ends.
        if status == 204 || status < 200, fields.contains(.transferEncoding) { connection.insert(.close) }
    }
}
