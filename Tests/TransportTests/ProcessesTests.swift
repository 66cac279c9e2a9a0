// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Testing
import Transport

@Suite struct ProcessesTests {
    let loop = LoopThread.loop

    @Test func `a child gets the descriptors under their numbers, and nothing else`() async throws {
        let output = try await run(["sh", "-c", "cd /proc/$$/fd; echo *; echo $HOME"])
        // 3 is the shell's own look at the folder.
        #expect(output == "0 1 2 3\n/tmp\n")
    }

    @Test func `a missing program is reported`() {
        let command = ChildCommand(executable: "/nonexistent", arguments: ["x"], environment: [])
        #expect(throws: SystemError(ENOENT)) { try command.spawn() }
    }

    @Test @Reactor func `a signal becomes an event`() async throws {
        let source = try SignalSource(loop: loop, signals: [SIGUSR2])
        var seen: [CInt] = []
        try source.start { seen.append($0) }
        // Only the loop's thread blocks the signal; a process-wide one could end another thread.
        pthread_kill(pthread_self(), SIGUSR2)
        try await eventually(loop) { seen == [SIGUSR2] }
        source.stop()
    }
}
