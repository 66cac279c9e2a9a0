// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// The exchanges that wait for a place at an upstream, oldest first: each of its endpoints has as many connections as it
/// may, or its name is being looked up for the first time.
///
/// Isolated to the Reactor. Each waits for its route's `connect` time at most, then is told why there was no place; a
/// connect that follows has the rest of that time.
@Reactor
final class UpstreamQueue {
    private struct Entry {
        let exchange: Exchange
        let end: MonotonicInstant
        /// Whether a stream will do, or a connection of its own is needed.
        let isStreamed: Bool
        /// What it hears when its time is over.
        let failure: UpstreamFailure
    }

    /// Requests that may wait for a connection; more would only time out in the queue.
    private static let limit = 1024

    private let loop: EventLoop
    private let timer: LoopTimer
    private var entries: [Entry] = []

    init(loop: EventLoop) {
        self.loop = loop
        timer = LoopTimer(loop: loop)
        timer.onFire = { [unowned self] in expire() }
    }

    /// How many wait.
    var count: Int { entries.count }

    /// Takes an exchange; false when too many wait.
    func add(_ exchange: Exchange, isStreamed: Bool, failure: UpstreamFailure) -> Bool {
        guard entries.count < Self.limit else { return false }
        let entry = Entry(exchange: exchange, end: exchange.leaseEnd, isStreamed: isStreamed, failure: failure)
        entries.append(entry)
        armForNext()
        return true
    }

    func remove(_ exchange: Exchange) {
        entries.removeAll { $0.exchange === exchange }
    }

    /// The exchange that has waited longest for this kind of place.
    func next(isStreamed: Bool) -> Exchange? {
        guard let index = entries.firstIndex(where: { $0.isStreamed == isStreamed }) else { return nil }
        return entries.remove(at: index).exchange
    }

    /// The same, which goes on waiting.
    func first(isStreamed: Bool) -> Exchange? {
        entries.first { $0.isStreamed == isStreamed }?.exchange
    }

    /// The exchange that has waited longest.
    func next() -> Exchange? {
        entries.isEmpty ? nil : entries.removeFirst().exchange
    }

    private func expire() {
        while let index = entries.firstIndex(where: { $0.end <= loop.now }) {
            let entry = entries.remove(at: index)
            entry.exchange.upstreamUnavailable(entry.failure, at: nil)
        }
        armForNext()
    }

    private func armForNext() {
        guard let first = entries.map(\.end).min() else { return timer.cancel() }
        timer.arm(at: first)
    }
}
