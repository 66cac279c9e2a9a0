// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What happened on an HTTP/2 connection, in order; streams carry what came with it.
package enum HTTP2Event {
    /// A head is complete: a request in `stream.request`, or a final answer in `stream.response`.
    case head(HTTP2Stream)
    /// An interim answer came; the final one is still to come, and may already be next.
    case interim(HTTP2Stream, InterimAnswer)
    /// A head that must not be used: a server answers it with `violation.status`, a client has reset it already.
    ///
    /// After `.head` it is about the trailers, and the stream has been reset.
    case refused(HTTP2Stream, HTTPViolation)
    /// There are new bytes in `stream.inbound`.
    case data(HTTP2Stream)
    /// The peer has sent all; `stream.trailers` is filled if there were any.
    case ended(HTTP2Stream)
    /// What we have to send on the stream fell below `HTTP2Stream.lowWater`, or `crowdedWater` where that
    /// counts: it may have more.
    case drained(HTTP2Stream)
    /// The stream is over, whole where the code is `.noError`; nothing more will be heard of it.
    case closed(HTTP2Stream, HTTP2ErrorCode)
    /// The peer takes no streams after this one.
    case goAway(lastStream: Int32, HTTP2ErrorCode)
    /// The peer answered our ping.
    case pong
}

/// A 1xx head, on its own so that the final one cannot overtake it.
package final class InterimAnswer {
    /// The interim answer.
    package var head = ResponseHead()

    init() {}
}
