// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// Waits for a connection to become usable, with a deadline.
@Reactor
final class RedisReadyWaiter {
    private let timer: LoopTimer
    private var caller: ParkedCaller<Bool>?

    init(loop: EventLoop) {
        timer = LoopTimer(loop: loop)
    }

    func wait(for timeout: Duration) async -> Bool {
        timer.onFire = { [weak self] in self?.finish(false) }
        timer.arm(after: timeout)
        return await ParkedCaller.park { caller = $0 }
    }

    func finish(_ isReady: Bool) {
        timer.cancel()
        caller?.resume(returning: isReady)
        caller = nil
    }
}
