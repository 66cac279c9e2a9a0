// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A piece of work that costs as much as several requests, done when it is the turn of the client that it is for.
///
/// The first few in a turn of the loop are done at once; those beyond wait behind all others like TLS handshakes do, and
/// clients take turns by their addresses.
@Reactor
package final class LoopTurn: EventSource {
    private var work: (@Reactor () -> Void)?

    /// Does `work` now, or gives what waits to do it; a turn that was given up does nothing.
    package static func take(
        on loop: EventLoop,
        lane: UInt8,
        _ work: @escaping @Reactor () -> Void
    ) -> LoopTurn? {
        guard loop.isPastFreeTurns else {
            work()
            return nil
        }
        return later(on: loop, lane: lane, work)
    }

    /// Does `work` behind all others.
    @discardableResult
    package static func later(on loop: EventLoop, lane: UInt8, _ work: @escaping @Reactor () -> Void) -> LoopTurn {
        let turn = LoopTurn(loop: loop, descriptor: -1)
        turn.work = work
        turn.lane = lane
        // Many wait one after another: a turn that was had is no sign of more to come.
        turn.isHeavy = true
        turn.markRegistered(true)
        loop.continueLater(turn)
        return turn
    }

    /// The work is not wanted any more.
    package func giveUp() { work = nil }

    override func ready(_ readiness: Readiness) {
        let work = work
        self.work = nil
        work?()
    }
}
