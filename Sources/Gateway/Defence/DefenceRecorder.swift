// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Telemetry
package import Transport

/// Counts what defences did, and writes a line that names each: one a second for one defence, however many it met.
///
/// Isolated to the Reactor, one for each worker.
@Reactor
package final class DefenceRecorder {
    private let counters: [Defence: Counter]
    private let log: Log
    private let loop: EventLoop
    /// Cases since the last line, and the client of the latest, for each defence whose last line is not a second old.
    private var quiet: [Defence: (cases: Int, client: String)] = [:]
    private lazy var timer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in writeRest() }

    /// The time between two lines of one defence.
    package static let interval = Duration.seconds(1)

    package init(slot: MetricsSlot, log: Log, loop: EventLoop) {
        self.log = log
        self.loop = loop
        counters = Dictionary(
            uniqueKeysWithValues: Defence.allCases.map { defence in
                (defence, slot.counter(GatewayMetrics.defences, "defence=\"\(defence.rawValue)\""))
            }
        )
    }

    /// One client met `defence`.
    package func note(_ defence: Defence, client: @autoclosure () -> String) {
        counters[defence]?.increment()
        if let earlier = quiet[defence] {
            quiet[defence] = (earlier.cases + 1, earlier.cases == 0 ? client() : earlier.client)
            return
        }
        write(defence, cases: 1, client: client())
        quiet[defence] = (0, "")
        if !timer.isArmed { timer.arm(after: Self.interval) }
    }

    private func writeRest() {
        let waiting = quiet
        quiet = [:]
        for (defence, rest) in waiting where rest.cases > 0 {
            write(defence, cases: rest.cases, client: rest.client)
            quiet[defence] = (0, "")
        }
        if !quiet.isEmpty { timer.arm(after: Self.interval) }
    }

    private func write(_ defence: Defence, cases: Int, client: String) {
        log.warning("defence", ["defence": defence.rawValue, "client": client, "cases": "\(cases)"])
    }
}
