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
    /// The worker that accepts from this one's sockets meanwhile.
    var standIn: Int?
    /// Whether it has ever served: before that its death is a fault of start-up.
    var hasServed = false

    init(role: ChildRole, slot: MetricsSlot?, now: ContinuousClock.Instant) {
        self.role = role
        self.slot = slot
        self.startedAt = now
        self.startAt = now
    }

    var isAlive: Bool { pid != 0 }
}
