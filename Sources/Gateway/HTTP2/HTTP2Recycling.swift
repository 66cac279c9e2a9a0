// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

/// What the streams of all HTTP/2 connections of a worker leave behind for the next ones.
@Reactor
final class HTTP2Recycling {
    /// Streams that are over.
    let streams = HTTP2StreamPool(limit: mostKept)
    private var sides: [HTTP2ClientSide] = []

    /// Busy workers have a few hundred requests under way.
    private nonisolated static let mostKept = 256

    func takeSide() -> HTTP2ClientSide {
        sides.popLast() ?? HTTP2ClientSide()
    }

    func give(_ side: HTTP2ClientSide) {
        if sides.count < Self.mostKept { sides.append(side) }
    }
}
