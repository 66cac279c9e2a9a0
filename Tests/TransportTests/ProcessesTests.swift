// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Testing
import Transport

@Suite struct ProcessesTests {
    let loop = LoopThread.loop

    @Test @Reactor func `a signal becomes an event`() async throws {
        let source = try SignalSource(loop: loop, signals: [SIGUSR2])
        var seen: [CInt] = []
        try source.start { seen.append($0) }
        // Only the loop's thread blocks the signal; a process-wide one could end another thread.
        pthread_kill(pthread_self(), SIGUSR2)
        try await eventually(loop) { !seen.isEmpty }
        #expect(seen == [SIGUSR2])
        source.stop()
    }
}
