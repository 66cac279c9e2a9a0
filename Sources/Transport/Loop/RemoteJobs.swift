// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// Jobs that other threads hand to the loop.
///
/// A lock of pthread, not of Synchronization: ThreadSanitizer sees only what goes through the functions it wraps, and
/// reports correct uses of `Mutex`, whose code is in a library it was not built into, as races (a program of nothing
/// but four threads and one `Mutex` is reported).
@safe
final class RemoteJobs: Sendable {
    // Initialised once, used through pthread's own functions only, destroyed when no thread holds the queue.
    private nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>
    // Touched with `mutex` held only.
    private nonisolated(unsafe) var jobs: [UnownedJob] = []

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    func append(_ job: UnownedJob) {
        unsafe pthread_mutex_lock(mutex)
        unsafe jobs.append(job)
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Takes all jobs there are.
    func takeAll() -> [UnownedJob] {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        let taken = unsafe jobs
        unsafe jobs.removeAll(keepingCapacity: true)
        return taken
    }
}
