// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CLinux

/// The global actor of the data plane: one thread, one event loop, no locks.
///
/// Its executor is the `EventLoop` of the process. The executable calls `installGlobalHook()` and then `run`; tests run
/// the loop on a thread of its own, without the hook.
@globalActor
package actor Reactor {
    package static let shared = Reactor()

    nonisolated let executor = LoopExecutor()

    private init() {}

    nonisolated package var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// Sends every job that Swift would give to its thread pool to the loop; called once, before the first task.
    ///
    /// Without it a continuation resumed on the loop travels through two other threads and costs 8 us.
    nonisolated package static func installGlobalHook() {
        unsafe sp_set_global_enqueue { job in
            guard let job = unsafe job else { return }
            unsafe Reactor.shared.executor.enqueue(unsafeBitCast(job, to: UnownedJob.self))
        }
    }

    /// Makes the calling thread the loop's, lets `prepare` set things up and runs until the loop is stopped.
    nonisolated package static func run(_ prepare: @Reactor (EventLoop) -> Void) {
        shared.executor.claimThread()
        assumeIsolated {
            let loop = EventLoop(executor: shared.executor)
            prepare(loop)
            loop.run()
        }
        shared.executor.leaveThread()
    }

    /// Whether the caller runs on the loop's thread.
    nonisolated package static var isCurrent: Bool { shared.executor.isCurrent }

    /// Runs `body` as isolated code; a bug anywhere but on the loop's thread.
    ///
    /// For callbacks from C, off the hot path.
    nonisolated private static func assumeIsolated<T>(_ body: @Reactor () throws -> T) rethrows -> T {
        precondition(shared.executor.isCurrent, "not on the loop's thread")
        // The two function types differ only in isolation, which was just checked.
        return try withoutActuallyEscaping(body) { isolated in
            try unsafe unsafeBitCast(isolated, to: (() throws -> T).self)()
        }
    }
}
