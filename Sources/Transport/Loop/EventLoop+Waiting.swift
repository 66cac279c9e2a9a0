// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension EventLoop {
    /// Waits on the loop's timers, without a thread; returns early by throwing where the task is cancelled.
    package func sleep(for duration: Duration) async throws(CancellationError) {
        let sleeper = Sleeper(loop: self)
        let woke = await withTaskCancellationHandler {
            await sleeper.wait(duration)
        } onCancel: {
            Task { @Reactor in sleeper.wake(false) }
        }
        guard woke else { throw CancellationError() }
    }

    /// Lets everybody else have a turn: for work that comes in slices.
    package func nextTurn() async {
        do throws(CancellationError) {
            try await sleep(for: .milliseconds(1))
        } catch {
            // Whoever cancels the work stops it himself.
        }
    }

    /// Gives `operation`'s value, or nil once `deadline` has passed; a late value is dropped.
    package func value<T: Sendable>(
        within deadline: Duration,
        of operation: @escaping @Reactor @Sendable () async -> T
    ) async -> T? {
        let race = Race<T>(loop: self)
        let task = Task { @Reactor in race.finish(await operation()) }
        let value = await race.wait(deadline)
        if value == nil { task.cancel() }
        return value
    }
}

/// One parked task and the timer that wakes it.
@Reactor
@safe
private final class Sleeper {
    private let timer: LoopTimer
    private var continuation: UnsafeContinuation<Bool, Never>?
    private var isCancelled = false

    init(loop: EventLoop) {
        timer = LoopTimer(loop: loop, ofProcess: true)
    }

    func wait(_ duration: Duration) async -> Bool {
        guard !isCancelled, !Task.isCancelled else { return false }
        timer.onFire = { [unowned self] in wake(true) }
        timer.arm(after: duration)
        return await unsafe withUnsafeContinuation { unsafe continuation = $0 }
    }

    func wake(_ woke: Bool) {
        timer.cancel()
        if !woke { isCancelled = true }
        unsafe continuation?.resume(returning: woke)
        unsafe continuation = nil
    }
}

/// A value against a deadline; whichever comes first resumes the waiting task.
@Reactor
@safe
private final class Race<T: Sendable> {
    private let timer: LoopTimer
    private var continuation: UnsafeContinuation<T?, Never>?
    private var early: T?

    init(loop: EventLoop) {
        timer = LoopTimer(loop: loop, ofProcess: true)
    }

    func wait(_ deadline: Duration) async -> T? {
        if let early { return early }
        timer.onFire = { [unowned self] in resume(nil) }
        timer.arm(after: deadline)
        return await unsafe withUnsafeContinuation { unsafe continuation = $0 }
    }

    func finish(_ value: T) {
        early = value
        resume(value)
    }

    private func resume(_ value: T?) {
        timer.cancel()
        unsafe continuation?.resume(returning: value)
        unsafe continuation = nil
    }
}
