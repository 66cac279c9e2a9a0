// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// The answers of all workers to one configuration.
@Reactor
struct PendingReload {
    private(set) var number = 0
    private var missing: Set<Int> = []
    private var faults: [String] = []
    private var waiter: ReplyWaiter<[String]>?

    nonisolated init() {}

    /// Begins to wait for so many workers.
    mutating func begin(workers: Int, loop: EventLoop) -> ReplyWaiter<[String]> {
        number += 1
        missing = Set(0..<workers)
        faults = []
        let waiter = ReplyWaiter<[String]>(loop: loop)
        self.waiter = waiter
        return waiter
    }

    /// One worker has answered.
    mutating func took(worker: Int, _ number: Int, fault: String?) {
        guard number == self.number, missing.remove(worker) != nil else { return }
        if let fault { faults.append("worker \(worker): \(fault)") }
        guard missing.isEmpty else { return }
        waiter?.finish(faults)
        waiter = nil
    }
}

/// One value that comes later, or not in time; for one who waits.
@Reactor

final class ReplyWaiter<Value: Sendable> {
    private let timer: LoopTimer
    private var continuation: CheckedContinuation<Value?, Never>?
    private var early: Value?
    private var isOver = false

    init(loop: EventLoop) {
        timer = LoopTimer(loop: loop, ofProcess: true)
    }

    /// The value, or nil after `deadline`.
    func value(within deadline: Duration) async -> Value? {
        if isOver { return early }
        timer.onFire = { [weak self] in self?.end(nil) }
        timer.arm(after: deadline)
        return await withCheckedContinuation { continuation = $0 }
    }

    func finish(_ value: Value) {
        guard !isOver else { return }
        early = value
        end(value)
    }

    private func end(_ value: Value?) {
        isOver = true
        timer.cancel()
        continuation?.resume(returning: value)
        continuation = nil
    }
}
