// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

extension Worker {
    /// Stops accepting and lets exchanges end with `Connection: close`; those that are under way at the `deadline` are
    /// told so and ended, and `done` is called a moment later at the latest.
    package func drain(deadline: Duration, done: @escaping @Reactor () -> Void) {
        isDraining = true
        for connection in connections.values { connection.drain() }
        for listener in listeners { listener.closeForGood() }
        listeners = []
        let began = loop.now
        let end = began.advanced(by: deadline)
        var told: MonotonicInstant?
        drainTimer.onFire = { [unowned self] in
            let now = loop.now
            // Counted from the moment of telling: a loop that was held up tells late.
            let isOver = told.map { now >= $0.advanced(by: Self.farewell) } ?? false
            // Balancers say at once whom a connection is for.
            let awaitsPreface = admission.prefaces > 0 && now < began.advanced(by: Self.farewell)
            if connections.isEmpty && !awaitsPreface || isOver {
                // What is cut has its line in the access log too.
                let end = MonotonicInstant.readClock().advanced(by: Self.cutting)
                for connection in connections.values { connection.cut(by: end) }
                return done()
            }
            if now >= end, told == nil {
                told = now
                for connection in connections.values { connection.goAway() }
            }
            drainTimer.arm(
                at: now >= end ? now.advanced(by: .milliseconds(20)) : min(end, now.advanced(by: .milliseconds(20)))
            )
        }
        drainTimer.arm(after: .milliseconds(10))
    }

    /// What is said at the end has this long to go out.
    private static let farewell: Duration = .milliseconds(200)
    /// And what is cut so long to be written down, all of it together.
    private static let cutting: Duration = .seconds(1)
}
