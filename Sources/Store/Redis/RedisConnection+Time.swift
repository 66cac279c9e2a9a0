// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

extension RedisConnection {
    func armTimer(at instant: MonotonicInstant) {
        timerDue = instant
        timer.arm(at: instant)
    }

    func timerFired() {
        switch state {
        case .disconnected: return
        case .connecting, .greeting: return disconnect(because: "no connection in time")
        case .ready: break
        }
        let now = loop.now
        if let oldest = queue.oldestDeadline, oldest.advanced(by: Self.grace) <= now {
            return disconnect(because: "the server does not answer")
        }
        let (expired, next) = queue.expire(at: now)
        if queue.isEmpty { ping() }
        let check = queue.isEmpty ? Self.heartbeat : Self.grace
        armTimer(at: min(next, now.advanced(by: check)))
        for call in expired { call.receiver?.failed(.deadline, token: call.token) }
    }

    /// Has the server say something; does nothing while there is no connection.
    package func ping() {
        guard isReady else { return }
        enqueue(nil, 0, loop.now.advanced(by: options.deadline))
        link.send { buffer in
            buffer.beginCommand(arguments: 1)
            buffer.appendArgument(utf8: "PING")
        }
    }
}
