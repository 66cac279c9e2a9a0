// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Sources that are done with and whose descriptors wait to be closed.
///
/// A close takes the kernel up to a tenth of a millisecond: it resets the connection and frees what was not read. A
/// client that goes away with a hundred requests under way must not hold up the others for all of them at once.
@Reactor
struct ClosingSockets: ~Copyable {
    private var waiting = WaitingLine<EventSource>()
    /// Those closed at once in this turn.
    private var closed = 0

    /// So many a turn are closed at once.
    private static let closedAtOnce = 4
    /// So long the others may take of one turn, but for the first of them, and the longest where many wait.
    private static let time: UInt64 = 100_000
    private static let longestTime: UInt64 = 400_000
    /// While more wait, none is accepted: each still holds a descriptor.
    private static let most = 256

    var isEmpty: Bool { waiting.isEmpty }

    /// Whether so many wait that no new connection is to be made.
    var isCrowded: Bool { waiting.count > Self.most }

    mutating func turnBegins() { closed = 0 }

    /// Whether one more can be closed at once; one that cannot is to wait.
    mutating func takesOne() -> Bool {
        guard closed < Self.closedAtOnce, waiting.isEmpty else { return false }
        closed &+= 1
        return true
    }

    mutating func append(_ source: EventSource) { waiting.append(source) }

    /// Gives the one that has waited longest.
    mutating func popFirst() -> EventSource? { waiting.popFirst() }

    /// When no more are to be closed in this turn.
    func end() -> UInt64 {
        let time = Self.time &* UInt64(1 + waiting.count / 64)
        return MonotonicInstant.readClock().nanoseconds &+ min(time, Self.longestTime)
    }
}
