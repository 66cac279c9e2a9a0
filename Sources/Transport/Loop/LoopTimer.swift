// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A deadline on the loop, cheap enough to be armed again for every byte that arrives.
///
/// Precision is one tick of the wheel (10 ms), never early. Re-arming for later only stores a number; the wheel moves
/// the timer when it meets it. Let the callback hold its owner `unowned` or weakly: the owner holds the timer, and a
/// timer that is freed is off the wheel.
@Reactor
@safe
package final class LoopTimer {
    private nonisolated let loop: EventLoop
    var deadline = MonotonicInstant.distantFuture
    /// What happens at the deadline; the timer is disarmed before.
    package var onFire: (@Reactor () -> Void)?

    // Links are touched by the wheel and by `deinit`, both on the loop's thread (`deinit` checks).
    nonisolated(unsafe) var next: Unmanaged<LoopTimer>?
    nonisolated(unsafe) var previous: Unmanaged<LoopTimer>?
    nonisolated(unsafe) var slot: Int = LoopTimer.unlinked
    var dueTick: UInt64 = 0
    /// The line in which it waits once it is due.
    let dueLine: TimerWheel.DueLine

    nonisolated static let unlinked = -1

    /// A disarmed timer; one of the process itself fires before those of clients, however many of them are due.
    ///
    /// Those are leases, looks and drains: a handful, each of which does little.
    package init(loop: EventLoop, ofProcess: Bool = false, onFire: (@Reactor () -> Void)? = nil) {
        self.loop = loop
        dueLine = ofProcess ? .process : .clients
        self.onFire = onFire
    }

    deinit {
        guard unsafe slot != LoopTimer.unlinked else { return }
        precondition(Reactor.isCurrent, "an armed timer was freed off the loop")
        unsafe loop.timers.unlink(Unmanaged.passUnretained(self), next: next, previous: previous, slot: slot)
    }

    /// Whether the timer will fire.
    package var isArmed: Bool { deadline != .distantFuture }

    /// Fires once, `delay` after this turn's time; replaces what was armed.
    package func arm(after delay: Duration) {
        arm(at: loop.now.advanced(by: delay))
    }

    /// Fires once at `instant`; replaces what was armed.
    package func arm(at instant: MonotonicInstant) {
        deadline = instant
        guard instant != .distantFuture else { return }
        loop.timers.schedule(self)
    }

    /// Disarms; costs one store.
    package func cancel() {
        deadline = .distantFuture
    }

    func fire() {
        deadline = .distantFuture
        onFire?()
    }
}
