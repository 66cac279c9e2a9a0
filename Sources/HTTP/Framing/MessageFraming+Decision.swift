// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension MessageFraming {
    /// Decides where the body of a request ends (RFC 9112 6.3), or refuses to guess.
    init(ofRequest fields: borrowing FieldTable, version: HTTPVersion) throws(HTTPViolation) {
        if fields.contains(.transferEncoding) {
            try Self.checkChunked(fields, version: version)
            self = .chunked
        } else if let length = try Self.contentLength(fields) {
            self = .length(length)
        } else {
            self = .none
        }
    }

    /// Decides where the body of an answer ends; what the status or method forbids is not there, whatever fields say.
    init(
        ofResponse fields: borrowing FieldTable,
        version: HTTPVersion,
        status: Int,
        answering method: Method
    ) throws(HTTPViolation) {
        var framing = MessageFraming.untilClose
        if fields.contains(.transferEncoding) {
            try Self.checkChunked(fields, version: version)
            framing = .chunked
        } else if let length = try Self.contentLength(fields) {
            framing = .length(length)
        }
        self = status < 200 || status == 204 || status == 304 || method == .head ? .none : framing
    }

    /// RFC 9112 6.1 and 7: `chunked`, once, alone, in HTTP/1.1, without a length beside it.
    private static func checkChunked(_ fields: borrowing FieldTable, version: HTTPVersion) throws(HTTPViolation) {
        if version == .http10 { throw .transferEncodingNotAllowed }
        if fields.contains(.contentLength) { throw .lengthAndTransferEncoding }
        guard !fields.isRepeated(.transferEncoding), let coding = fields.first(.transferEncoding) else {
            throw .malformedTransferEncoding
        }
        guard !coding.equalsIgnoringCase("chunked") else { return }
        for index in coding.indices where ByteClass.table[Int(coding[index])] & ByteClass.token == 0 {
            throw .malformedTransferEncoding
        }
        throw coding.count == 0 ? .malformedTransferEncoding : .transferEncodingNotSupported
    }

    /// RFC 9110 8.6: 1*DIGIT, once; a list, even of equal numbers, is refused.
    private static func contentLength(_ fields: borrowing FieldTable) throws(HTTPViolation) -> UInt64? {
        guard let digits = fields.first(.contentLength) else { return nil }
        if fields.isRepeated(.contentLength) { throw .repeatedLength }
        // Eighteen digits cannot overflow and are more than any body has.
        guard digits.count > 0, digits.count <= 18 else { throw .malformedLength }
        var length: UInt64 = 0
        for index in digits.indices {
            let byte = digits[index]
            guard byte.isASCIIDigit else { throw .malformedLength }
            length = length &* 10 &+ UInt64(byte &- 0x30)
        }
        return length
    }
}
