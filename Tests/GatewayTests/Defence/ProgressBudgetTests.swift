// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing
import Transport

@testable import Gateway

@Suite struct ProgressBudgetTests {
    static let times = TimeoutSettings(
        handshake: .seconds(1),
        header: .seconds(1),
        idle: .seconds(10),
        keepAlive: .seconds(1),
        leastRate: ByteCount(bytes: 100),
        patience: .seconds(30),
        drain: .seconds(1)
    )

    private func at(_ seconds: Int) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: UInt64(seconds) * 1_000_000_000)
    }

    @Test func `silence ends after the idle time`() {
        var budget = ProgressBudget()
        #expect(budget.wait(from: at(100), Self.times) == at(110))
        #expect(budget.progressed(1, at: at(105), Self.times) >= at(115))
    }

    @Test func `trickling ends when patience does`() {
        var budget = ProgressBudget()
        var deadline = budget.wait(from: at(100), Self.times)
        var now = 100
        while deadline > at(now), now < 1_000 {
            now += 5
            deadline = budget.progressed(1, at: at(now), Self.times)
        }
        #expect((130...135).contains(now))
    }

    @Test func `a client at the least rate may take for ever`() {
        var budget = ProgressBudget()
        var deadline = budget.wait(from: at(100), Self.times)
        for now in stride(from: 105, to: 10_000, by: 5) {
            #expect(deadline > at(now))
            deadline = budget.progressed(500, at: at(now), Self.times)
        }
    }

    @Test func `our own time is not counted`() {
        var budget = ProgressBudget()
        for round in 0..<100 {
            let start = 1_000 * round
            _ = budget.wait(from: at(start), Self.times)
            budget.pause(at: at(start))
        }
        #expect(budget.wait(from: at(200_000), Self.times) == at(200_010))
    }

    @Test func `without a least rate progress extends for ever`() {
        var times = Self.times
        times.leastRate = ByteCount(bytes: 0)
        var budget = ProgressBudget()
        var deadline = budget.wait(from: at(0), times)
        for now in stride(from: 5, to: 10_000, by: 5) {
            #expect(deadline > at(now))
            deadline = budget.progressed(1, at: at(now), times)
        }
    }
}
