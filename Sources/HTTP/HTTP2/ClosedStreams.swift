// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What a server remembers of streams that are over, so that frames which crossed our reset of one can be told from
/// those that nobody may send (RFC 9113 5.1).
struct ClosedStreams {
    /// The highest number the client has used.
    private var last: Int32 = 0
    /// Numbers that were passed over, oldest first: using a higher one closed them unused.
    private var skipped: [ClosedRange<Int32>] = []
    /// Streams that we reset, in a ring.
    private var reset: [Int32] = []
    private var next = 0

    /// An honest client skips none.
    private static let mostSkipped = 16
    /// Twice the streams that are open at once: what was on its way when we reset them all is still borne.
    private static let mostReset = 256

    mutating func opened(_ id: Int32) {
        guard id > last else { return }
        if id > last &+ 2, skipped.count < Self.mostSkipped { skipped.append(last &+ 1...id &- 1) }
        last = id
    }

    mutating func wasReset(_ id: Int32) {
        guard reset.count == Self.mostReset else { return reset.append(id) }
        reset[next] = id
        next = (next &+ 1) % Self.mostReset
    }

    /// What HEADERS or DATA on a stream that is not open are; nil where they are to be ignored,
    /// or are for others to judge.
    func fault(of id: Int32) -> HTTP2ErrorCode? {
        guard id > 0, id & 1 == 1, id <= last, !reset.contains(id) else { return nil }
        return skipped.contains { $0.contains(id) } ? .protocolError : .streamClosed
    }
}
