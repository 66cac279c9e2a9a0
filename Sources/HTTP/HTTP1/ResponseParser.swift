// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Reads HTTP/1.1 and 1.0 answers of upstreams as strictly as requests are read.
package struct ResponseParser: ~Copyable {
    private let limits: ParserLimits

    /// A parser at the start of a connection.
    package init(limits: ParserLimits = ParserLimits()) {
        self.limits = limits
    }

    /// Whether any byte of the present answer has been seen.
    package var isMidway: Bool { false }

    /// Reads on; fills `head` once all of it is there. `method` is the method of the request being answered.
    package mutating func parse(
        _ bytes: Span<UInt8>,
        into head: inout ResponseHead,
        answering method: Method
    ) throws(HTTPViolation) -> ParseProgress {
        throw .malformedStartLine
    }
}
