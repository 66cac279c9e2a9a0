// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Telemetry

/// One child as its supervisor sees it.
struct SupervisedChild {
    enum State: String {
        /// Started, does not serve yet.
        case starting
        case serving
        /// Told to end.
        case ending
        /// Dead; started again when its time comes.
        case away
        /// Dead for good: the gateway stops.
        case ended
    }

    let role: ChildRole
    /// Where its metrics are; none for Redis.
    let slot: MetricsSlot?
    var state = State.away
    var pid: Int32 = 0
    /// Our end of the lines.
    var channel = ProcessChannel()
    var startedAt: ContinuousClock.Instant
    /// When to start it, while it is away.
    var startAt: ContinuousClock.Instant
    var policy = RestartPolicy()
    var restarts = 0
    /// Its signs of life.
    var pulse = ChildPulse()
    /// Whether it has given no sign of life for a while.
    var isLate = false
    /// When it is killed for having hung.
    var killAt: ContinuousClock.Instant?
    /// How often control had an answer from it: the signs of life of Redis.
    var answers: UInt64 = 0
    /// Whether this worker could answer but not judge, and accepts nothing yet.
    var isWaiting = false
    /// The worker that accepts from this one's sockets meanwhile.
    var standIn: Int?
    /// How often in a row it could not start, because of something that it said: a file that
    /// is missing, a fault in one.
    var failedStarts = 0
    /// Whether it has ever served: before that its death is a fault of start-up.
    var hasServed = false

    init(role: ChildRole, slot: MetricsSlot?, now: ContinuousClock.Instant) {
        self.role = role
        self.slot = slot
        self.startedAt = now
        self.startAt = now
    }

    var isAlive: Bool { pid != 0 }

    /// Whether it does its work, as far as can be told.
    var isWell: Bool { state == .serving && !isLate }

    /// Whether it was told to die a moment ago.
    var isBeingKilled: Bool { killAt.map { ContinuousClock.now < $0 + .seconds(5) } ?? false }

    /// How often it has given a sign of life.
    var beats: UInt64 { slot?.beats ?? answers }

    /// The number of a worker; nil for the others.
    var worker: Int? {
        guard case .worker(let index) = role else { return nil }
        return index
    }

    var isWorker: Bool { worker != nil }

    /// Whether this worker accepts and judges.
    var canJudge: Bool { isWorker && isWell && (slot?.sum(of: GatewayMetrics.workersJudging) ?? 0) > 0 }

    /// Forgets what was true of the process before.
    mutating func started(as pid: Int32, _ channel: ProcessChannel, at now: ContinuousClock.Instant) {
        self.pid = pid
        self.channel = channel
        state = .starting
        startedAt = now
        pulse = ChildPulse(beats: beats)
        isLate = false
        killAt = nil
        isWaiting = false
    }
}
