// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// How large a head may be; each limit has its own violation.
package struct ParserLimits: Sendable, Equatable {
    /// The longest request or status line, without its CRLF (RFC 9112 3 recommends 8000 at least).
    package var startLine = 8190
    /// The most fields in a head or trailer section; at most `FieldTable.mostFields`.
    package var fieldCount = 100
    /// The most bytes all field lines may take together.
    package var fieldBytes = 32 * 1024
    /// The empty lines forgiven before a request line (RFC 9112 2.2 asks for one).
    package var emptyLines = 1
    /// The most bytes of chunk extensions in one chunk line.
    package var chunkExtension = 256
    /// The most bytes of chunk extensions in one body.
    package var chunkExtensions = 16 * 1024

    /// More bytes than any head has that is not refused: so many must have room where a head is gathered.
    package var mostHead: Int { startLine + fieldBytes + 1024 }

    /// The limits used unless configuration says otherwise.
    package init() {}
}

/// What became of the bytes offered to a parser.
package enum ParseProgress: Sendable, Equatable {
    /// The head is not complete: offer the same bytes again once more have come.
    case needMore
    /// The head is complete and filled; its first `consumed` bytes are to be taken off the front.
    case head(consumed: Int)
}
