// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CLinux

/// What epoll reported for one descriptor.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let readable = Readiness(rawValue: UInt32(EPOLLIN.rawValue))
    package static let writable = Readiness(rawValue: UInt32(EPOLLOUT.rawValue))
    package static let peerEnded = Readiness(rawValue: UInt32(EPOLLRDHUP.rawValue))
    package static let hungUp = Readiness(rawValue: UInt32(EPOLLHUP.rawValue))
    package static let failed = Readiness(rawValue: UInt32(EPOLLERR.rawValue))
}

/// A descriptor that the loop watches, or, with none, something that only waits for its turn or for a turn's end.
///
/// The loop retains a source that it watches from `register` until the end of the turn in which it was taken out of
/// epoll: events that were fetched before that still point at it.
@Reactor
package class EventSource {
    let loop: EventLoop
    /// The watched descriptor, -1 once closed.
    var descriptor: CInt
    fileprivate(set) var isRegistered = false
    /// Whether the source waits on the end-of-turn list.
    fileprivate(set) var isEnlisted = false
    /// Whether its next work is known to be heavy, whatever it did before.
    var isHeavy = false
    /// Whether it is among the busy sources that wait for their part of a turn, and with what.
    var isWaitingItsTurn = false
    var heldReadiness: Readiness = []
    /// With whom it takes turns while it is busy: those of one client's address have one lane.
    var lane: UInt8 = 0
    /// Whether the time that it takes is that client's alone.
    var servesOneClient = false
    /// When the time that it took of the loop will have been spread out to a fair part of it.
    var chargedUntil: UInt64 = 0

    init(loop: EventLoop, descriptor: CInt) {
        self.loop = loop
        self.descriptor = descriptor
    }

    /// Events arrived; edge-triggered sources must note them, they do not come again.
    func ready(_ readiness: Readiness) {}

    /// The end of a turn for which the source was enlisted.
    func turnEnded() {}

    /// It is the turn of a source that wanted to be closed by its own decision then (`EventLoop.closeInTurn`).
    func closingTurnCame() {}

    final func markRegistered(_ registered: Bool) { isRegistered = registered }

    @inline(__always)
    final func markEnlisted(_ enlisted: Bool) { isEnlisted = enlisted }
}
