// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP

extension HTTPViolation {
    /// What the sender is told to do about it.
    var mending: String {
        switch self {
        case .startLineTooLong: "Shorten the path and the query, or raise http.line."
        case .malformedStartLine, .tooManyEmptyLines: "Begin with one line of method, target and version."
        case .malformedMethod: "Send a method that is a token, such as GET."
        case .methodNotSupported: "Use another method: CONNECT opens no tunnel here."
        case .malformedTarget: "Send a path that begins with /, percent-encoded where it has to be."
        case .malformedVersion, .versionNotSupported: "Speak HTTP/1.1, or HTTP/2 by TLS."
        case .bareCarriageReturn, .bareLineFeed: "End each line with CR and LF, and send neither alone."
        case .controlByte: "Leave control characters out of the head."
        case .lineFolding: "Send each field in one line."
        case .malformedFieldName: "Send field names that are tokens, with the colon right behind."
        case .tooManyFields: "Send fewer fields, or raise http.fields."
        case .fieldsTooLarge: "Send shorter fields, or raise http.head."
        case .missingHost, .repeatedHost, .malformedHost:
            "Send Host once, with a name or an address and perhaps a port."
        case .lengthAndTransferEncoding: "Send Content-Length or Transfer-Encoding, not both."
        case .repeatedLength, .malformedLength: "Send Content-Length once, as a number."
        case .malformedTransferEncoding, .transferEncodingNotSupported:
            "Send Transfer-Encoding once, as chunked and nothing else."
        case .transferEncodingNotAllowed: "Send Content-Length in HTTP/1.0."
        case .expectationFailed: "Leave Expect out, or send 100-continue."
        case .malformedConnection: "Name in Connection only what is about this connection."
        case .connectionNamesEndToEndField: "Take fields that the service is to see out of Connection."
        case .malformedChunkSize, .malformedChunkEnd:
            "Send each chunk as its size in hexadecimal digits, CR LF, its bytes, CR LF."
        case .malformedChunkExtension, .chunkExtensionTooLong: "Leave chunk extensions out."
        case .malformedPseudoField: "Send :method, :scheme, :path and :authority once, before all other fields."
        case .connectionSpecificField: "Leave Connection, Transfer-Encoding, Upgrade and their like out of HTTP/2."
        case .lengthMismatch: "Send as many bytes as Content-Length says."
        case .tooSlow: "Send the request without long pauses."
        case .unexpectedEnd: "Send the request whole before the connection ends."
        // An upstream's, never a client's.
        case .malformedStatus, .tooManyInterims: "Mend what the upstream answers."
        }
    }
}
