// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

extension EventLoop {
    /// Waits without holding the loop; not cancelled early, so keep it short.
    func pause(for duration: Duration) async {
        let timer = LoopTimer(loop: self)
        await ParkedCaller<Void>.park { caller in
            timer.onFire = { caller.resume(returning: ()) }
            timer.arm(after: duration)
        }
        // The wheel does not own its timers.
        withExtendedLifetime(timer) {}
    }
}
