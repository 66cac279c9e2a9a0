// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Reads HTTP/1.1 and 1.0 request heads strictly: refuses, never repairs (RFC 9112).
///
/// Offer it the unconsumed bytes of the connection from the front; it remembers how far it looked, so slow clients cost
/// no second scan. After `.head` it is ready for the next request; after a violation the connection must end.
package struct RequestParser: ~Copyable {
    private let limits: ParserLimits

    /// A parser at the start of a connection.
    package init(limits: ParserLimits = ParserLimits()) {
        self.limits = limits
    }

    /// Whether some bytes of a request have been seen but not all: tells a slow client from an idle one.
    package var isMidway: Bool { false }

    /// Reads on; fills `head`, which the parser resets itself, once all of it is there.
    package mutating func parse(
        _ bytes: Span<UInt8>,
        into head: inout RequestHead
    ) throws(HTTPViolation) -> ParseProgress {
        throw .malformedStartLine
    }
}
