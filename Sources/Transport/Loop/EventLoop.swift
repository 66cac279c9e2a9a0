// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CLinux
import Glibc
package import Telemetry

/// The one event loop of a process: epoll, timers and Swift's jobs on one thread.
///
/// A turn is: wait, events for a while, timers, jobs until none is left, flushes, busy sources for a while and their
/// flushes, some of the closes that wait and of each backlog, then closed sources are freed. Of many events at once
/// those that are left when four tenths of a millisecond have passed come first in the next turn.
@Reactor
@safe
package final class EventLoop {
    /// The time at which this turn's events were fetched.
    package private(set) var now: MonotonicInstant
    /// While it is set, streams count as congested from their low-water mark on.
    package var isMemoryShort = false
    /// Where the time of every turn is counted, from its events to its last flush.
    package var turnTimes: Histogram?
    /// How long busy sources, and TLS handshakes, may take of a turn in which others had less to do.
    package var busyShare = Duration.microseconds(100) {
        didSet { busyNanoseconds = UInt64(clamping: busyShare.nanosecondsClamped) }
    }
    /// Those that have work now, in the order in which they began.
    var backlogs: [Backlog] = []
    /// Told of a stream that has begun to keep the loop busy and waits behind all others from now on.
    package var onBusy: (@Reactor (ByteStream) -> Void)?
    let executor: LoopExecutor
    let timers = TimerWheel()

    let epoll: CInt
    // Only the loop's thread uses it; `deinit` runs when nothing else can.
    nonisolated(unsafe) let events: UnsafeMutablePointer<epoll_event>
    private var isStopping = false
    /// Each is retained once, from the moment it is enlisted to the end of its flush.
    private var enlisted: [Unmanaged<EventSource>] = unsafe []
    private var flushing: [Unmanaged<EventSource>] = unsafe []
    var graveyard: [EventSource] = []
    var busy = BusySources()
    var closing = ClosingSockets()
    /// What `LoopTurn` did at once in this turn.
    var freeTurns = 0
    /// For whose events the last turn had no time left: they come first in the next.
    var late = WaitingLine<EventSource>()
    /// Since when there are any, or may be.
    private var lateSince: MonotonicInstant?
    private static let timersWait: UInt64 = 100_000_000
    /// Milliseconds by which a wait and the turn before it are longer than they ever are by themselves.
    private static let stall: UInt64 = 50
    var busyNanoseconds: UInt64 = 100_000
    var latestLane: UInt8 = 0
    /// Whether turns are long at present, so that it is measured who takes the time.
    var isMeasuring = false
    private var wallClock: UInt64 = 0
    /// Connections that gave their buffers back since the heap was last trimmed.
    var releases = 0
    var trimming: LoopTimer?

    private static let eventsPerTurn: CInt = 256
    /// A task that never waits must not keep sockets waiting for ever.
    private static let jobsPerTurn = 4096
    /// Of what costs as much as several requests so many pieces a turn need not wait.
    static let mostFreeTurns = 4

    init(executor: LoopExecutor) {
        self.executor = executor
        epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
        precondition(epoll >= 0, "no epoll for the loop")
        unsafe events = .allocate(capacity: Int(Self.eventsPerTurn))
        now = .readClock()
        unsafe enlisted.reserveCapacity(256)
        unsafe flushing.reserveCapacity(256)
        graveyard.reserveCapacity(64)
        timers.start(at: now)
        var event = unsafe epoll_event()
        unsafe event.events = UInt32(EPOLLIN.rawValue)
        unsafe event.data.ptr = nil
        unsafe epoll_ctl(epoll, EPOLL_CTL_ADD, executor.wakeUpDescriptor, &event)
    }

    deinit {
        Glibc.close(epoll)
        unsafe events.deallocate()
    }

    /// Milliseconds since 1970, read at most once per turn.
    package var wallClockMilliseconds: Int64 {
        if wallClock == 0 { wallClock = clockNanoseconds(CLOCK_REALTIME) }
        return Int64(wallClock / 1_000_000)
    }

    /// Turns until `stop()`.
    package func run() {
        isStopping = false
        while !isStopping { turn() }
    }

    /// Ends `run()` after the present turn.
    package func stop() {
        isStopping = true
    }

    /// Calls `source.turnEnded()` once, when this turn's events and jobs are done.
    @inline(__always)
    func atEndOfTurn(_ source: EventSource) {
        guard !source.isEnlisted else { return }
        source.markEnlisted(true)
        unsafe enlisted.append(Unmanaged.passRetained(source))
    }

    private func turn() {
        let wait = waitMilliseconds
        let fetched = unsafe epoll_wait(epoll, events, Self.eventsPerTurn, wait)
        let count = max(fetched, 0)
        let before = now
        now = .readClock()
        wallClock = 0
        freeTurns = 0
        closing.turnBegins()
        if isMeasuring {
            dispatchMeasuring(count)
        } else {
            dispatchAll(count)
        }
        // Of a process that was stopped, or a full list of events, more may be there than was fetched.
        let hasSlept =
            fetched < 0 || now.nanoseconds &- before.nanoseconds > (UInt64(max(wait, 0)) &+ Self.stall) &* 1_000_000
        if timersAreDue(mayBeBehind: hasSlept || count == Self.eventsPerTurn) { timers.advance(to: now) }
        executor.runJobs(limit: Self.jobsPerTurn)
        if unsafe !enlisted.isEmpty { flush() }
        // Last, so that what the others have to say is on its way meanwhile.
        if !busy.isEmpty {
            runBusy()
            if unsafe !enlisted.isEmpty { flush() }
        }
        if !closing.isEmpty { closeSome() }
        if !backlogs.isEmpty { workOnBacklogs() }
        if !graveyard.isEmpty { graveyard.removeAll(keepingCapacity: true) }
        if let turnTimes {
            turnTimes.record(nanoseconds: MonotonicInstant.readClock().nanoseconds &- now.nanoseconds)
        }
    }

    /// A deadline must not come before the event that kept it, as it would after a stall; but those that are put off
    /// must not hold it up for long either.
    private func timersAreDue(mayBeBehind: Bool) -> Bool {
        guard mayBeBehind || !late.isEmpty else {
            lateSince = nil
            return true
        }
        guard let lateSince else {
            lateSince = now
            return false
        }
        return now.nanoseconds &- lateSince.nanoseconds > Self.timersWait
    }

    private var waitMilliseconds: CInt {
        if unsafe executor.hasJobs || !enlisted.isEmpty || !busy.isEmpty || !late.isEmpty || !closing.isEmpty
            || timers.isBehind
        {
            return 0
        }
        let wait = timers.millisecondsToNext(from: now)
        return backlogs.isEmpty || wait == 0 ? wait : 1
    }

    @inline(__always)
    func dispatch(_ event: epoll_event) {
        guard let pointer = unsafe event.data.ptr else { return executor.wakeUpArrived() }
        let readiness = Readiness(rawValue: unsafe event.events)
        unsafe Unmanaged<EventSource>.fromOpaque(pointer)._withUnsafeGuaranteedRef { source in
            guard source.isRegistered else { return }
            if source.isHeavy || source.isWaitingItsTurn || source.chargedUntil > now.nanoseconds
                || isMeasuring && busy.hasCompany(now.nanoseconds), waitsItsTurn(source)
            {
                source.heldReadiness.formUnion(readiness)
                busy.append(source)
            } else {
                source.ready(readiness)
            }
        }
    }

    /// Leaves an event to the next turn.
    func putOff(_ event: epoll_event) {
        guard let pointer = unsafe event.data.ptr else { return executor.wakeUpArrived() }
        unsafe Unmanaged<EventSource>.fromOpaque(pointer)._withUnsafeGuaranteedRef { source in
            guard source.isRegistered else { return }
            source.heldReadiness.formUnion(Readiness(rawValue: unsafe event.events))
            guard !source.isWaitingItsTurn else { return }
            if waitsItsTurn(source) { return busy.append(source) }
            source.isWaitingItsTurn = true
            late.append(source)
        }
    }

    /// What is enlisted during the flush waits for the next turn, so that no stream can hold the loop.
    private func flush() {
        unsafe swap(&enlisted, &flushing)
        for index in unsafe flushing.indices {
            // Who has more to read than is sent goes on behind the others from then on.
            if index & 7 == 7, !isMeasuring, isLate { isMeasuring = true }
            unsafe flushing[index]._withUnsafeGuaranteedRef { source in
                source.markEnlisted(false)
                source.turnEnded()
            }
            unsafe flushing[index].release()
        }
        unsafe flushing.removeAll(keepingCapacity: true)
    }
}
