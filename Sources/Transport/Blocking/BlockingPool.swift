// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Synchronization

/// A few threads for work that would hold the loop: files, names, slow hashing.
package final class BlockingPool: Sendable {
    private let queue = WorkQueue()
    private let limit: Int
    private let threads = Atomic<Int>(0)

    /// At most `threads` threads, each started when work first waits for it.
    package init(threads: Int = 4) {
        limit = max(1, threads)
    }

    deinit {
        queue.close()
    }

    /// Runs `work` on a thread of the pool and comes back with its value.
    package func run<T: Sendable>(_ work: @escaping @Sendable () -> T) async -> T {
        await unsafe withUnsafeContinuation { continuation in
            submit { unsafe continuation.resume(returning: work()) }
        }
    }

    /// Runs `work` on a thread of the pool and comes back with its value or failure.
    package func run<T: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> T
    ) async throws(Failure) -> T {
        let result: Result<T, Failure> = await run {
            do throws(Failure) { return .success(try work()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private func submit(_ work: @escaping @Sendable () -> Void) {
        let waiting = queue.push(work)
        guard waiting > 0, threads.load(ordering: .relaxed) < limit else { return }
        guard threads.wrappingAdd(1, ordering: .relaxed).oldValue < limit else {
            threads.wrappingSubtract(1, ordering: .relaxed)
            return
        }
        startThread()
    }

    private func startThread() {
        var thread = pthread_t()
        // Balanced in the thread's first line.
        let argument = unsafe Unmanaged.passRetained(queue).toOpaque()
        guard unsafe pthread_create(&thread, nil, workerEntry, argument) == 0 else {
            unsafe Unmanaged<WorkQueue>.fromOpaque(argument).release()
            let left = threads.wrappingSubtract(1, ordering: .relaxed).newValue
            // No threads left in the system. Those that run do the work; without any, late is better than never.
            if left == 0, let work = queue.take() { work() }
            return
        }
        pthread_detach(thread)
    }
}

/// About a tenth of the loop's share while both want the processor.
private nonisolated let backgroundNiceness: CInt = 10

private nonisolated func workerEntry(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument = unsafe argument else { return nil }
    let queue = unsafe Unmanaged<WorkQueue>.fromOpaque(argument).takeRetainedValue()
    // Signals belong to the loop's thread.
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
    // The loop comes first where both share a processor; on Linux this is of the calling thread alone.
    _ = nice(backgroundNiceness)
    while let work = queue.pop() { work() }
    return nil
}

/// Work that waits for a thread; a closed queue ends the threads that ask it.
@safe
private final class WorkQueue: Sendable {
    // Initialised once, used through pthread's own functions only, destroyed when no thread holds the queue.
    private nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private nonisolated(unsafe) let condition: UnsafeMutablePointer<pthread_cond_t>
    // Touched with `mutex` held only.
    private nonisolated(unsafe) var waiting: [@Sendable () -> Void] = []
    private nonisolated(unsafe) var idleThreads = 0
    private nonisolated(unsafe) var isClosed = false

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe condition.initialize(to: pthread_cond_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(condition, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    /// Returns how many pieces of work wait beyond the idle threads.
    func push(_ work: @escaping @Sendable () -> Void) -> Int {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        unsafe waiting.append(work)
        unsafe pthread_cond_signal(condition)
        return unsafe waiting.count - idleThreads
    }

    func pop() -> (@Sendable () -> Void)? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        unsafe idleThreads += 1
        while unsafe waiting.isEmpty, unsafe !isClosed { unsafe pthread_cond_wait(condition, mutex) }
        unsafe idleThreads -= 1
        return unsafe waiting.isEmpty ? nil : waiting.removeFirst()
    }

    /// The work that waits longest, without waiting for some.
    func take() -> (@Sendable () -> Void)? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return unsafe waiting.isEmpty ? nil : waiting.removeFirst()
    }

    func close() {
        unsafe pthread_mutex_lock(mutex)
        unsafe isClosed = true
        unsafe pthread_cond_broadcast(condition)
        unsafe pthread_mutex_unlock(mutex)
    }
}
