// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Testing

@testable import Transport

@Suite struct LoopTimerTests {
    let loop = LoopThread.loop

    @Test @Reactor func `timers fire in time, in order and never early`() async throws {
        var fired: [(delay: Int, late: Duration)] = []
        var timers: [LoopTimer] = []
        for delay in [70, 10, 40, 0, 200] {
            let timer = LoopTimer(loop: loop)
            let start = loop.now
            timer.onFire = { [loop] in
                fired.append((delay, loop.now.duration(since: start) - .milliseconds(delay)))
            }
            timer.arm(after: .milliseconds(delay))
            timers.append(timer)
        }
        try await eventually(loop) { fired.count == 5 }
        #expect(fired.map(\.delay) == [0, 10, 40, 70, 200])
        #expect(fired.allSatisfy { $0.late >= .zero })
        #expect(fired.allSatisfy { $0.late < .seconds(4) })
    }

    @Test @Reactor func `after a stall a deadline does not come before the events that kept it`() async throws {
        // Other suites hold this loop up too, and timers wait for a tenth of a second only: one try must do.
        for _ in 0..<8 where try await handledAtDeadline(of: 16) == 16 { return }
        Issue.record("of more events than one turn has time for some were overtaken each time")
    }

    /// How many of so many events had been handled when a timer fired that was due after them, and the
    /// loop stood still meanwhile.
    @Reactor private func handledAtDeadline(of count: Int) async throws -> Int {
        var handled = 0
        var pipes: [Pipe] = []
        for _ in 0..<count { pipes.append(try Pipe(loop) { handled += 1 }) }
        try await eventually(loop) { loop.late.isEmpty }
        var seen: Int?
        let timer = LoopTimer(loop: loop) { seen = handled }
        timer.arm(after: .milliseconds(10))
        for pipe in pipes { pipe.write() }
        usleep(30_000)
        try await eventually(loop) { seen != nil }
        for pipe in pipes { pipe.close() }
        return seen ?? 0
    }

    @Test @Reactor func `the process's own timers fire before those of clients that are due, and while they wait`()
        async throws
    {
        var fired = 0
        var firedBefore: [Int] = []
        let clients = (0..<80).map { _ in
            LoopTimer(loop: loop) {
                fired += 1
                let end = MonotonicInstant.readClock().advanced(by: .milliseconds(1))
                while MonotonicInstant.readClock() < end {}
            }
        }
        let due = loop.now.advanced(by: .milliseconds(20))
        // The wheel meets first what was armed last, and the second is due when clients' have waited for a while.
        let own = (0..<2).map { _ in LoopTimer(loop: loop, ofProcess: true) { firedBefore.append(fired) } }
        own[0].arm(at: due)
        own[1].arm(at: due.advanced(by: .milliseconds(20)))
        for timer in clients { timer.arm(at: due) }
        try await eventually(loop) { fired == 80 && firedBefore.count == 2 }
        #expect(firedBefore[0] == 0)
        #expect(firedBefore[1] < 60, "\(firedBefore[1]): twenty milliseconds' worth, and some")
    }

    @Test @Reactor func `a timer armed again fires once, at the later time`() async throws {
        var count = 0
        let timer = LoopTimer(loop: loop) { count += 1 }
        let start = loop.now
        for _ in 0..<10_000 { timer.arm(after: .seconds(2)) }
        try await loop.sleep(for: .milliseconds(50))
        timer.arm(after: .seconds(2))
        try #require(count == 0, "this machine is too slow for the test")
        try await eventually(loop) { count == 1 }
        #expect(loop.now.duration(since: start) >= .milliseconds(2050))
        #expect(!timer.isArmed)
        try await loop.sleep(for: .milliseconds(50))
        #expect(count == 1)
    }

    @Test @Reactor func `a timer armed for earlier fires earlier`() async throws {
        var count = 0
        let timer = LoopTimer(loop: loop) { count += 1 }
        timer.arm(after: .seconds(60))
        timer.arm(after: .milliseconds(20))
        try await eventually(loop) { count == 1 }
    }

    @Test @Reactor func `a cancelled or freed timer does not fire`() async throws {
        var count = 0
        let timer = LoopTimer(loop: loop) { count += 1 }
        timer.arm(after: .milliseconds(20))
        timer.cancel()
        for _ in 0..<100 {
            let freed = LoopTimer(loop: loop) { count += 1 }
            freed.arm(after: .milliseconds(20))
        }
        try await loop.sleep(for: .milliseconds(80))
        #expect(count == 0)
        timer.arm(after: .milliseconds(10))
        try await eventually(loop) { count == 1 }
    }

    @Test @Reactor func `a callback may arm its own timer and cancel others`() async throws {
        var ticks = 0
        var others = 0
        let first = LoopTimer(loop: loop)
        let second = LoopTimer(loop: loop) { others += 1 }
        first.onFire = { [unowned first, unowned second] in
            ticks += 1
            second.cancel()
            if ticks < 5 { first.arm(after: .milliseconds(10)) }
        }
        first.arm(after: .milliseconds(20))
        second.arm(after: .milliseconds(20))
        try await eventually(loop) { ticks == 5 }
        try await loop.sleep(for: .milliseconds(30))
        #expect(ticks == 5)
        #expect(others <= 1)
    }

    @Test @Reactor func `a cancelled sleep ends early`() async throws {
        let loop = loop
        let task = Task { @Reactor in try await loop.sleep(for: .seconds(60)) }
        try await loop.sleep(for: .milliseconds(20))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test @Reactor func `a value that comes too late is nil`() async throws {
        let loop = loop
        let late = await loop.value(within: .milliseconds(30)) {
            do { try await loop.sleep(for: .seconds(30)) } catch {}
            return 1
        }
        #expect(late == nil)
        let early = await loop.value(within: .seconds(30)) { 2 }
        #expect(early == 2)
    }
}

@Suite struct MonotonicInstantTests {
    @Test(arguments: [
        (Duration.zero, Int64(0)), (.nanoseconds(1), 1), (.nanoseconds(-1), -1), (.seconds(18), 18_000_000_000),
        (.seconds(19), 19_000_000_000), (.seconds(86_400 * 365), 31_536_000_000_000_000),
        (.seconds(-60), -60_000_000_000),
        (.seconds(Int64.max), .max), (.seconds(Int64.min), .min), (.milliseconds(1) + .nanoseconds(7), 1_000_007),
        (.seconds(9_300_000_000), .max), (.seconds(9_223_372_036), 9_223_372_036_000_000_000),
    ])
    func `durations become nanoseconds, at the ends where they do not fit`(duration: Duration, expected: Int64) {
        #expect(duration.nanosecondsClamped == expected)
    }

    @Test func `an instant moves both ways and stays on the clock`() {
        let instant = MonotonicInstant(nanoseconds: 1000)
        #expect(instant.advanced(by: .nanoseconds(5)).nanoseconds == 1005)
        #expect(instant.advanced(by: .nanoseconds(-5)).nanoseconds == 995)
        #expect(instant.advanced(by: .seconds(-5)).nanoseconds == 0)
        #expect(MonotonicInstant(nanoseconds: .max - 1).advanced(by: .seconds(5)) == .distantFuture)
        #expect(instant.duration(since: MonotonicInstant(nanoseconds: 1500)) == .nanoseconds(-500))
    }
}

/// The end of a pipe that takes 200 us for what it reads.
@Reactor
private final class Pipe: EventSource {
    private let writing: CInt
    private let onRead: @Reactor () -> Void

    init(_ loop: EventLoop, onRead: @escaping @Reactor () -> Void) throws {
        var ends: [CInt] = [-1, -1]
        try #require(unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | O_NONBLOCK, 0, &ends) == 0)
        writing = ends[1]
        self.onRead = onRead
        super.init(loop: loop, descriptor: ends[0])
        try loop.register(self)
    }

    func write() {
        var byte: UInt8 = 0
        _ = unsafe Glibc.write(writing, &byte, 1)
    }

    override func ready(_ readiness: Readiness) {
        guard readiness.contains(.readable) else { return }
        usleep(200)
        onRead()
    }

    func close() {
        loop.deregister(self)
        Glibc.close(descriptor)
        Glibc.close(writing)
    }
}
