// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// When the heap gives its free pages back.
extension EventLoop {
    /// So many released connections leave about 15 MB of holes in the heap: worth the 3-7 ms that a trim takes.
    private static let releasesPerTrim = 512
    /// So long after the last of them: while connections still go idle, the holes are used again.
    private static let trimDelay = Duration.milliseconds(400)
    /// Connections that come and go without a pause must not put the trim off for ever.
    private static let mostReleases = 16_384

    /// Counts a connection that went idle or closed; after many the heap's free pages go back to the system.
    func buffersReleased() {
        releases += 1
        guard releases >= Self.releasesPerTrim else { return }
        let timer = trimming ?? LoopTimer(loop: self)
        if trimming == nil {
            trimming = timer
            timer.onFire = { [unowned self] in
                releases = 0
                ThisProcess.trimHeap()
            }
        }
        if !timer.isArmed || releases < Self.mostReleases { timer.arm(after: Self.trimDelay) }
    }
}
