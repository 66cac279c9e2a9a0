// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What came of interim answers before the final one: honest upstreams send one or two small ones.
///
/// Nothing slows them down in HTTP/2, and those that come without end would fill the room of a
/// client that does not read.
package struct InterimTally: Sendable {
    /// The most interim answers before a final one.
    package static let mostAnswers = 32
    /// The most bytes that their fields may take together.
    package static let mostBytes = 64 << 10

    private var answers = 0
    private var bytes = 0

    /// Nothing has come.
    package init() {}

    /// Counts one, or refuses it.
    package mutating func add(_ head: borrowing ResponseHead) throws(HTTPViolation) {
        answers += 1
        bytes += head.fields.byteCount
        guard answers <= Self.mostAnswers, bytes <= Self.mostBytes else { throw .tooManyInterims }
    }
}
