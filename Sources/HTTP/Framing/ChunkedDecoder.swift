// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Reads a chunked body strictly, without copying it (RFC 9112 7.1).
///
/// Call `next` until it says `.needMore` or `.end`; after each answer take `consumed` bytes off the front.
package struct ChunkedDecoder: ~Copyable {
    /// What the front of the bytes is.
    package enum Part: Sendable, Equatable {
        /// Body bytes lie at `range`; then take `consumed` bytes off.
        case data(Range<Int>, consumed: Int)
        /// Take `consumed` bytes off and come back with more.
        case needMore(consumed: Int)
        /// The body is over and `trailers` is filled; take `consumed` bytes off.
        case end(consumed: Int)
    }

    private let limits: ParserLimits
    /// The trailer fields, complete after `.end`; forbidden ones are marked dropped.
    package internal(set) var trailers = FieldTable()

    /// A decoder at the start of a body.
    package init(limits: ParserLimits = ParserLimits()) {
        self.limits = limits
    }

    /// Makes the decoder ready for another body, keeping its room.
    package mutating func reset() {
        trailers.reset()
    }

    /// Reads on.
    package mutating func next(_ bytes: Span<UInt8>) throws(HTTPViolation) -> Part {
        throw .malformedChunkSize
    }
}
