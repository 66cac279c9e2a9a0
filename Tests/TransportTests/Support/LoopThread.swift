// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Synchronization
import Transport

/// The process's loop on a thread of its own, started by the first suite that touches it.
///
/// A suite holds `let loop = LoopThread.loop`; its tests are `@Test @Reactor`.
enum LoopThread {
    static let loop: EventLoop = start()

    private static let made = Mutex<EventLoop?>(nil)

    private static func start() -> EventLoop {
        signal(SIGPIPE, SIG_IGN)
        var thread = pthread_t()
        unsafe pthread_create(&thread, nil, loopThreadEntry, nil)
        while true {
            if let loop = made.withLock({ $0 }) { return loop }
            usleep(200)
        }
    }

    static func publish(_ loop: EventLoop) {
        made.withLock { $0 = loop }
    }
}

private func loopThreadEntry(_: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    // Made before the loop turns: the command that makes them would hold it.
    _ = TestCertificates.shared
    Reactor.run { LoopThread.publish($0) }
    return nil
}
