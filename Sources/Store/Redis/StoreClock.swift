// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Transport

/// The time that tokens and development modes end by: the local clock, corrected by the store's where it is far off.
///
/// Isolated to the Reactor. Asks the store every ten seconds; while it is away the last correction stays.
@Reactor
package final class StoreClock {
    /// Called with how far the store's clock is ahead of ours, in milliseconds, at every measurement, and whether it is
    /// the first in a row that somebody should look at.
    package var onMeasured: (@Reactor (Int64, Bool) -> Void)?

    private let loop: EventLoop
    private let connection: RedisConnection
    private var correction: Int64 = 0
    /// What the store's clock is ahead of ours at least, however long its answer was under way.
    private var leastDifference: Int64 = 0
    private var isWarned = false
    private var task: Task<Void, Never>?

    private static let interval = Duration.seconds(10)
    /// Until the store was asked once.
    private static let firstInterval = Duration.milliseconds(100)

    package init(loop: EventLoop, connection: RedisConnection) {
        self.loop = loop
        self.connection = connection
    }

    /// Milliseconds since 1970.
    package var now: Int64 {
        @inline(__always) get { loop.wallClockMilliseconds &+ correction }
    }

    /// The store's own time, or a moment earlier: what tokens are dated by, so that its watermarks part old from new on
    /// every node, and end a token too many rather than one too few.
    package var stamp: Int64 { loop.wallClockMilliseconds &+ leastDifference }

    /// Begins to ask.
    package func start() {
        task = Task { await self.run() }
    }

    package func stop() {
        task?.cancel()
        task = nil
    }

    private func run() async {
        var pause = Self.firstInterval
        while !Task.isCancelled {
            do throws(StoreError) {
                try await ask(connection)
                pause = Self.interval
            } catch {
                // The last correction stays.
            }
            do throws(CancellationError) { try await loop.sleep(for: pause) } catch { return }
        }
    }

    private func ask(_ connection: RedisConnection) async throws(StoreError) {
        let sent = loop.wallClockMilliseconds
        let time = try await RedisRequirements.time(of: connection)
        let received = loop.wallClockMilliseconds
        leastDifference = time - received
        // Somewhere between sending and receiving; the middle is off by half the way at most.
        take(time - (sent + (received - sent) / 2))
    }

    private func take(_ measured: Int64) {
        correction = ClockCorrection.correction(of: measured)
        let deservesWarning = ClockCorrection.deservesWarning(measured)
        onMeasured?(measured, deservesWarning && !isWarned)
        isWarned = deservesWarning
    }
}

/// Nothing is judged before the store was asked once, nor after another store took its place.
extension StoreClock: ChangeSubscriber {
    package func apply(_ change: RegistryNotice) -> Bool { false }

    package func dropEverything() {}

    package func reload(_ change: RegistryNotice) async {}

    package func restore(from connection: RedisConnection) async throws(StoreError) { try await ask(connection) }
}

/// What a difference between clocks leads to (architecture §5, Time).
enum ClockCorrection {
    private static let tolerated: Int64 = 60_000
    private static let unremarkable: Int64 = 5_000

    /// What is added to the local clock: nothing for what clocks differ by anyway, so that a slow reply moves no time.
    static func correction(of difference: Int64) -> Int64 { difference.magnitude > tolerated ? difference : 0 }

    static func deservesWarning(_ difference: Int64) -> Bool { difference.magnitude >= unremarkable }
}
