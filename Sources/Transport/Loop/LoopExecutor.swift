// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CLinux
import Glibc
import Synchronization

/// Runs Swift's jobs on the loop's thread: a plain queue for jobs made there, a locked one for all others.
final class LoopExecutor: SerialExecutor {
    private let loopThread = Atomic<UInt>(0)
    private let remote = RemoteJobs()
    /// Set while a wake-up is on its way, so that a burst of remote jobs costs one write.
    private let wakeUpPending = Atomic<Bool>(false)
    /// The eventfd that ends a sleeping epoll_wait; the loop watches it.
    let wakeUpDescriptor: CInt

    // Both queues are touched by the loop's thread alone: `enqueue` compares threads first, `runJobs` is the loop's.
    private nonisolated(unsafe) var local: [UnownedJob] = []
    private nonisolated(unsafe) var running: [UnownedJob] = []

    init() {
        wakeUpDescriptor = eventfd(0, CInt(EFD_NONBLOCK) | CInt(EFD_CLOEXEC))
        precondition(wakeUpDescriptor >= 0, "no eventfd for the loop")
        unsafe local.reserveCapacity(256)
        unsafe running.reserveCapacity(256)
    }

    var isCurrent: Bool {
        @inline(__always) get { loopThread.load(ordering: .relaxed) == UInt(pthread_self()) }
    }

    func claimThread() {
        let (won, _) = loopThread.compareExchange(
            expected: 0,
            desired: UInt(pthread_self()),
            ordering: .sequentiallyConsistent
        )
        precondition(won, "two threads run one loop")
    }

    func leaveThread() {
        loopThread.store(0, ordering: .sequentiallyConsistent)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        enqueue(UnownedJob(job))
    }

    func enqueue(_ job: UnownedJob) {
        if isCurrent {
            unsafe local.append(job)
        } else {
            remote.append(job)
            wakeUp()
        }
    }

    func checkIsolated() {
        precondition(isCurrent, "not on the loop's thread")
    }

    func isIsolatingCurrentContext() -> Bool? { isCurrent }

    /// Ends the loop's sleep; from any thread.
    func wakeUp() {
        guard !wakeUpPending.exchange(true, ordering: .acquiringAndReleasing) else { return }
        eventfd_write(wakeUpDescriptor, 1)
    }

    /// Moves what other threads enqueued to the loop's own queue.
    func wakeUpArrived() {
        var value: eventfd_t = 0
        unsafe eventfd_read(wakeUpDescriptor, &value)
        wakeUpPending.store(false, ordering: .sequentiallyConsistent)
        unsafe local.append(contentsOf: remote.takeAll())
    }

    /// Whether a job waits on the loop's own queue.
    var hasJobs: Bool {
        @inline(__always) get { unsafe !local.isEmpty }
    }

    /// Runs jobs, also those made meanwhile, until none is left or `limit` were run.
    func runJobs(limit: Int) {
        var left = limit
        let executor = unsafe asUnownedSerialExecutor()
        while unsafe !local.isEmpty, left > 0 {
            unsafe swap(&local, &running)
            for job in unsafe running {
                unsafe job.runSynchronously(on: executor)
            }
            left -= unsafe running.count
            unsafe running.removeAll(keepingCapacity: true)
        }
    }
}
