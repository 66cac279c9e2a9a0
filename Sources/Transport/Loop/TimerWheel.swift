// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Hashed wheel of 1,024 slots of 10 ms; a timer further away than one round is met each round and stays.
@Reactor
@safe
final class TimerWheel {
    private nonisolated static let tick: UInt64 = 10_000_000
    private nonisolated static let slots = 1024

    private nonisolated(unsafe) let heads: UnsafeMutablePointer<Unmanaged<LoopTimer>?>
    /// One bit for each slot that is not empty.
    private nonisolated(unsafe) let occupied: UnsafeMutablePointer<UInt64>
    /// Behind the chains of the slots are two more: timers that were met after their time and wait to be fired.
    ///
    /// A chain holds none of its timers: one that is freed takes itself off, and does not fire.
    enum DueLine: Int {
        /// The process's own: all of them fire in the turn in which they are due.
        case process = 1024
        /// Clients': as many fire in a turn as it has time for.
        case clients = 1025
    }
    /// The ends of those two chains.
    private nonisolated(unsafe) let lasts: UnsafeMutablePointer<Unmanaged<LoopTimer>?>
    /// When clients' have had so much of a turn, the others wait for the next.
    private static let fireTime: UInt64 = 250_000
    /// The first tick that has not been handled.
    private var current: UInt64 = 0

    nonisolated init() {
        unsafe heads = .allocate(capacity: TimerWheel.slots + 2)
        unsafe heads.initialize(repeating: nil, count: TimerWheel.slots + 2)
        unsafe lasts = .allocate(capacity: 2)
        unsafe lasts.initialize(repeating: nil, count: 2)
        unsafe occupied = .allocate(capacity: TimerWheel.slots / 64)
        unsafe occupied.initialize(repeating: 0, count: TimerWheel.slots / 64)
    }

    deinit {
        unsafe heads.deallocate()
        unsafe lasts.deallocate()
        unsafe occupied.deallocate()
    }

    func start(at now: MonotonicInstant) {
        current = now.nanoseconds / Self.tick
    }

    /// Links the timer, unless it already waits at or before its deadline.
    func schedule(_ timer: LoopTimer) {
        let due = max(tickNotBefore(timer.deadline), current)
        // One that is due stays in its line, and is linked anew when its turn comes.
        if unsafe timer.slot != LoopTimer.unlinked {
            if timer.dueTick <= due { return }
            unlink(timer)
        }
        link(timer, due: due)
    }

    /// Whether some are due and have not fired.
    var isBehind: Bool { unsafe heads[DueLine.process.rawValue] != nil || heads[DueLine.clients.rawValue] != nil }

    /// Fires what is due, of clients' timers a while of it; a callback may arm, cancel and free any timer.
    func advance(to now: MonotonicInstant) {
        meetDue(now)
        while let timer = popDue(.process) { fire(timer, now) }
        if unsafe heads[DueLine.clients.rawValue] != nil { fireClients(now) }
    }

    /// Moves what is due to its line.
    private func meetDue(_ now: MonotonicInstant) {
        let last = now.nanoseconds / Self.tick
        guard last >= current else { return }
        // After a long sleep one round meets every timer.
        let first = last - current >= UInt64(Self.slots) ? last - UInt64(Self.slots) + 1 : current
        current = last + 1
        var tick = first
        while tick <= last {
            let slot = Int(tick % UInt64(Self.slots))
            if unsafe occupied[slot / 64] & (1 << UInt64(slot % 64)) != 0 { empty(slot, upTo: last, now: now) }
            tick += 1
        }
    }

    /// How long epoll may sleep: to the next slot with a timer, for ever without one.
    func millisecondsToNext(from now: MonotonicInstant) -> CInt {
        guard let distance = ticksToOccupiedSlot() else { return -1 }
        let due = (current + distance) * Self.tick
        guard due > now.nanoseconds else { return 0 }
        return CInt(truncatingIfNeeded: (due - now.nanoseconds + 999_999) / 1_000_000)
    }

    private func ticksToOccupiedSlot() -> UInt64? {
        let start = Int(current % UInt64(Self.slots))
        let words = Self.slots / 64
        var word = start / 64
        var bits = unsafe occupied[word] & (~0 << UInt64(start % 64))
        for _ in 0...words {
            if bits != 0 {
                let slot = word * 64 + bits.trailingZeroBitCount
                return UInt64((slot - start + Self.slots) % Self.slots)
            }
            word = (word + 1) % words
            bits = unsafe occupied[word]
        }
        return nil
    }

    /// Takes what is due off the slot's chain, to its line or to the slot of the later time for which it was armed again.
    private func empty(_ slot: Int, upTo last: UInt64, now: MonotonicInstant) {
        var chain = unsafe heads[slot]
        while let link = unsafe chain {
            let timer = unsafe link._withUnsafeGuaranteedRef { $0 }
            unsafe chain = timer.next
            guard timer.dueTick <= last else { continue }
            unlink(timer)
            if timer.deadline <= now {
                appendDue(timer)
            } else if timer.isArmed {
                self.link(timer, due: max(tickNotBefore(timer.deadline), current))
            }
        }
    }

    /// Fires clients' timers, but for what would make a turn long: a thousand that are cut at once have one deadline.
    private func fireClients(_ now: MonotonicInstant) {
        let end = MonotonicInstant.readClock().nanoseconds &+ Self.fireTime
        var count = 0
        while let timer = popDue(.clients) {
            guard fire(timer, now) else { continue }
            count &+= 1
            if count & 3 == 0, MonotonicInstant.readClock().nanoseconds > end { return }
        }
    }

    /// Fires `timer`, unless it was armed for later or cancelled while it waited.
    @discardableResult
    private func fire(_ timer: LoopTimer, _ now: MonotonicInstant) -> Bool {
        guard timer.deadline <= now else {
            if timer.isArmed { link(timer, due: max(tickNotBefore(timer.deadline), current)) }
            return false
        }
        timer.fire()
        return true
    }

    private func popDue(_ line: DueLine) -> LoopTimer? {
        guard let first = unsafe heads[line.rawValue] else { return nil }
        let timer = unsafe first._withUnsafeGuaranteedRef { $0 }
        unlink(timer)
        return timer
    }

    private func appendDue(_ timer: LoopTimer) {
        let line = timer.dueLine.rawValue
        let link = unsafe Unmanaged.passUnretained(timer)
        unsafe timer.slot = line
        unsafe timer.previous = lasts[line - Self.slots]
        unsafe timer.next = nil
        if let last = unsafe timer.previous {
            unsafe last._withUnsafeGuaranteedRef { unsafe $0.next = link }
        } else {
            unsafe heads[line] = link
        }
        unsafe lasts[line - Self.slots] = link
    }

    private func tickNotBefore(_ instant: MonotonicInstant) -> UInt64 {
        (instant.nanoseconds &+ (Self.tick - 1)) / Self.tick
    }

    private func link(_ timer: LoopTimer, due: UInt64) {
        let slot = Int(due % UInt64(Self.slots))
        let link = unsafe Unmanaged.passUnretained(timer)
        timer.dueTick = due
        unsafe timer.slot = slot
        unsafe timer.previous = nil
        unsafe timer.next = heads[slot]
        unsafe heads[slot]?._withUnsafeGuaranteedRef { unsafe $0.previous = link }
        unsafe heads[slot] = link
        unsafe occupied[slot / 64] |= 1 << UInt64(slot % 64)
    }

    private func unlink(_ timer: LoopTimer) {
        unsafe unlink(
            Unmanaged.passUnretained(timer),
            next: timer.next,
            previous: timer.previous,
            slot: timer.slot
        )
        unsafe timer.next = nil
        unsafe timer.previous = nil
        unsafe timer.slot = LoopTimer.unlinked
    }

    nonisolated func unlink(
        _ timer: Unmanaged<LoopTimer>,
        next: Unmanaged<LoopTimer>?,
        previous: Unmanaged<LoopTimer>?,
        slot: Int
    ) {
        unsafe next?._withUnsafeGuaranteedRef { unsafe $0.previous = previous }
        if let previous = unsafe previous {
            unsafe previous._withUnsafeGuaranteedRef { unsafe $0.next = next }
        } else {
            unsafe heads[slot] = next
            if unsafe next == nil, slot < Self.slots { unsafe occupied[slot / 64] &= ~(1 << UInt64(slot % 64)) }
        }
        if unsafe next == nil, slot >= Self.slots { unsafe lasts[slot - Self.slots] = previous }
    }
}
