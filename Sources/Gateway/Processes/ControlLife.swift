// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Store
import Telemetry
import Transport

/// Control's signs of life for the supervisor, and those of the embedded Redis.
///
/// Isolated to the Reactor.
@Reactor
final class ControlLife {
    private let slot: MetricsSlot
    /// The connection to the embedded Redis; nil where somebody else runs Redis.
    private let redis: RedisConnection?
    private let link: any SupervisorLink
    private let loop: EventLoop
    private var heard: MonotonicInstant?
    private lazy var timer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in beat() }

    init(slot: MetricsSlot, redis: RedisConnection?, link: any SupervisorLink, loop: EventLoop) {
        self.slot = slot
        self.redis = redis
        self.link = link
        self.loop = loop
    }

    func start() { beat() }

    private func beat() {
        timer.arm(after: ChildPulse.interval)
        slot.beat()
        guard let redis else { return }
        // Whatever it says is a sign of life, also that it is still loading.
        if redis.lastHeard != heard {
            heard = redis.lastHeard
            link.send(.redisAnswers)
        }
        redis.ping()
    }
}
