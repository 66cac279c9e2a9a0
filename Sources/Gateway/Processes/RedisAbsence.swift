// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Store
import Telemetry
import Transport

/// Says why Redis cannot be used: at once, but of our own one that is only just being started not before its time is up.
///
/// Isolated to the Reactor.
@Reactor
final class RedisAbsence {
    private let loop: EventLoop
    private let log: Log
    /// Whether the first failures belong to the order in which things start.
    private var isStarting: Bool
    private var reason: String?
    private lazy var timer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in timePassed() }

    /// A Redis that reads back a large file takes longer, and is told of.
    private static let startTime = Duration.seconds(5)

    init(of redis: RedisSettings, loop: EventLoop, log: Log) {
        isStarting = redis == .embedded
        self.loop = loop
        self.log = log
    }

    /// Hears of a connection's failures, from before it starts.
    func follow(_ connection: RedisConnection) {
        connection.onFailure = { [unowned self] in failed($0) }
        if isStarting { timer.arm(after: Self.startTime) }
    }

    /// The connection is there.
    func ended() {
        timer.cancel()
        isStarting = false
        reason = nil
    }

    private func failed(_ reason: String) {
        guard isStarting else { return tell(reason) }
        self.reason = reason
    }

    private func timePassed() {
        isStarting = false
        if let reason { tell(reason) }
    }

    private func tell(_ reason: String) {
        log.warning("Redis cannot be used", ["reason": reason])
    }
}
