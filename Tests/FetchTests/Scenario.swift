// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Synchronization
import Transport

/// Runs a scenario in a process of its own: a process has one loop, and other suites have theirs.

/// Runs a scenario in a process of its own: a process has one loop, and other suites have theirs.
enum Scenario {
    static let loop = Mutex<EventLoop?>(nil)

    static func run(_ body: @escaping @Reactor (EventLoop) async throws -> Void) async {
        signal(SIGPIPE, SIG_IGN)
        var thread = pthread_t()
        unsafe pthread_create(&thread, nil, scenarioThread, nil)
        var started: EventLoop?
        while started == nil {
            started = loop.withLock { $0 }
            usleep(500)
        }
        await perform(body)
    }

    @Reactor private static func perform(_ body: @Reactor (EventLoop) async throws -> Void) async {
        guard let loop = loop.withLock({ $0 }) else { exit(3) }
        do {
            try await body(loop)
        } catch {
            // Shown by the test that expects a clean end.
            let line = Array("scenario: \(error)\n".utf8)
            unsafe write(STDERR_FILENO, line, line.count)
            exit(2)
        }
        exit(0)
    }

    /// A sentence that does not hold.
    struct Broken: Error {
        let sentence: String
    }

    static func require(_ condition: Bool, _ sentence: String) throws {
        if !condition { throw Broken(sentence: sentence) }
    }
}

private nonisolated func scenarioThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    Reactor.run { made in Scenario.loop.withLock { $0 = made } }
    return nil
}
