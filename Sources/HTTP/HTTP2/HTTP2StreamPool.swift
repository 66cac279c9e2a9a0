// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Streams that are over, kept with their buffers for the next ones of any connection that shares the pool.
///
/// Isolated to whatever the sessions that share it are isolated to.
package final class HTTP2StreamPool {
    private var spare: [HTTP2Stream] = []
    private let limit: Int

    /// A pool that keeps at most `limit` streams.
    package init(limit: Int = 64) {
        self.limit = limit
    }

    func take() -> HTTP2Stream {
        spare.popLast() ?? HTTP2Stream()
    }

    func give(_ stream: HTTP2Stream) {
        stream.reset()
        if spare.count < limit { spare.append(stream) }
    }
}
