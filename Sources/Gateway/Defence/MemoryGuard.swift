// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Telemetry
package import Transport

/// Watches the memory of one worker and says what has to go before its budget is spent.
///
/// Isolated to the Reactor, owned by the worker. The levels are left again five hundredths below where they begin, so
/// that the gateway does not go to and fro.
@Reactor
package final class MemoryGuard {
    /// What is done at present; each level does what those below it do.
    package enum Level: Int, Comparable, Sendable {
        case calm
        /// From three quarters of the budget: connections that carry nothing are closed, and less
        /// is buffered for the others.
        case closesIdle
        /// From 85 hundredths: no new connection is taken.
        case refusesConnections
        /// From 92 hundredths: new requests are answered 503.
        case refusesRequests

        package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }

        /// The hundredths of the budget where the level begins.
        private var begins: Int {
            switch self {
            case .calm: 0
            case .closesIdle: 75
            case .refusesConnections: 85
            case .refusesRequests: 92
            }
        }

        /// The level that follows this one when `bytes` of `budget` are used.
        package func next(at bytes: Int, of budget: Int) -> Level {
            for candidate in [Level.refusesRequests, .refusesConnections, .closesIdle] {
                let begins = candidate.begins - (self >= candidate ? Self.hysteresis : 0)
                if Double(bytes) >= Double(budget) / 100 * Double(begins) { return candidate }
            }
            return .calm
        }

        private static let hysteresis = 5
    }

    package private(set) var level = Level.calm
    /// Called after each look at a level above calm.
    package var onPressure: (@Reactor (Level) -> Void)?
    private let memory = ProcessMemory()
    private let loop: EventLoop
    private let log: Log
    private let resident: Gauge
    private let budgetGauge: Gauge
    private let shedding: Gauge
    private var budget = Int.max
    private lazy var timer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in look() }
    private var looks = 0

    /// At ten gigabits a second no more than 120 MiB can arrive between two looks.
    package static let interval = Duration.milliseconds(100)
    /// While memory stays short, the heap's holes are given back this often.
    private static let looksPerTrim = 5
    package init(loop: EventLoop, log: Log, slot: MetricsSlot) {
        self.loop = loop
        self.log = log
        resident = slot.gauge(GatewayMetrics.memoryResident)
        budgetGauge = slot.gauge(GatewayMetrics.memoryBudget)
        shedding = slot.gauge(GatewayMetrics.memoryShedding)
    }

    /// Watches from now on, against `budget` bytes.
    package func watch(budget: Int) {
        self.budget = max(1, budget)
        budgetGauge.set(self.budget)
        timer.arm(after: Self.interval)
    }

    private func look() {
        timer.arm(after: Self.interval)
        guard var bytes = memory.residentBytes() else { return }
        if level.next(at: bytes, of: budget) > .calm {
            // Holes in the heap are no load: they go back before anybody is turned away for them.
            if looks % Self.looksPerTrim == 0 {
                ThisProcess.trimHeap()
                bytes = memory.residentBytes() ?? bytes
            }
            looks &+= 1
        } else {
            looks = 0
        }
        resident.set(bytes)
        enter(level.next(at: bytes, of: budget), bytes)
        if level > .calm { onPressure?(level) }
    }

    private func enter(_ next: Level, _ bytes: Int) {
        guard next != level else { return }
        let fields: KeyValuePairs = [
            "doing": next.word, "resident": "\(bytes >> 20)MiB", "budget": "\(budget >> 20)MiB",
        ]
        if next > level { log.warning("memory_short", fields) } else { log.info("memory_eases", fields) }
        shedding.set(next > .calm ? 1 : 0)
        loop.isMemoryShort = next > .calm
        level = next
    }
}

extension MemoryGuard.Level {
    /// What the log line says is done.
    fileprivate var word: String {
        switch self {
        case .calm: "nothing"
        case .closesIdle: "close_idle"
        case .refusesConnections: "refuse_connections"
        case .refusesRequests: "refuse_requests"
        }
    }
}
