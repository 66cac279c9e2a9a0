// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing
import WindowModel

@testable import Limits

/// A window that expectations can spend from: their macro takes no mutating call.
private final class SpentWindow {
    var window: SlidingWindow

    init(limit: Int, window: Duration) {
        self.window = SlidingWindow(limit: limit, window: window)
    }

    func admits(_ cost: Int, at time: Int64) -> Bool { window.spend(cost, at: time).isAdmitted }
}

/// The same for an estimate.
private final class SpentEstimate {
    var estimate: WindowEstimate

    init(rule: WindowRule, share: Int) {
        estimate = WindowEstimate(rule: rule, share: share, at: 0)
    }

    func admits(_ cost: Int, at time: UInt64) -> Bool { estimate.spend(cost, at: time) }
}

@Suite struct SlidingWindowTests {
    /// The most units admitted in any half-open interval as long as the window.
    private func densest(_ admissions: [(time: Int64, cost: Int)], within length: Int64) -> Int {
        var most = 0
        var sum = 0
        var first = 0
        for admission in admissions {
            sum += admission.cost
            while admissions[first].time <= admission.time - length {
                sum -= admissions[first].cost
                first += 1
            }
            most = max(most, sum)
        }
        return most
    }

    @Test(arguments: 0..<200)
    func `no interval as long as the window ever holds more than the limit`(seed: Int) {
        var random = SeededRandom(state: UInt64(seed))
        let length = Duration.milliseconds(Int.random(in: 1_000...90_000, using: &random))
        let limit = Int.random(in: 1...200, using: &random)
        var window = SlidingWindow(limit: limit, window: length)
        let microseconds = length.components.seconds * 1_000_000 + length.components.attoseconds / 1_000_000_000_000
        var time: Int64 = 1_700_000_000_000_000
        var admissions: [(time: Int64, cost: Int)] = []
        for _ in 0..<2_000 {
            // Bursts, pauses and lulls about as long as a window.
            switch Int.random(in: 0..<20, using: &random) {
            case 0: time += Int64.random(in: 0...microseconds, using: &random)
            case 1: time += microseconds / 60
            default: time += Int64.random(in: 0...(microseconds / Int64(limit)), using: &random)
            }
            let cost = Int.random(in: 1...max(1, min(3, limit)), using: &random)
            if window.spend(cost, at: time).isAdmitted { admissions.append((time, cost)) }
        }
        #expect(densest(admissions, within: microseconds) <= limit)
        #expect(!admissions.isEmpty)
    }

    @Test(arguments: 0..<50)
    func `the same call succeeds after the wait that was told, and not much before`(seed: Int) throws {
        var random = SeededRandom(state: UInt64(seed))
        let window = SpentWindow(limit: 20, window: .seconds(60))
        var time: Int64 = 1_700_000_000_000_000
        var refused: WindowVerdict?
        while refused == nil {
            time += Int64.random(in: 0...3_000_000, using: &random)
            let verdict = window.window.spend(1, at: time)
            if !verdict.isAdmitted { refused = verdict }
        }
        let wait = try #require(refused?.resetMilliseconds)
        #expect(!window.admits(1, at: time + (wait - 1) * 1000 - 1_000))
        #expect(window.admits(1, at: time + wait * 1000))
    }

    @Test func `a unit is free again one bucket late at most`() {
        let window = SpentWindow(limit: 1, window: .seconds(60))
        let start: Int64 = 1_700_000_000_000_000
        #expect(window.admits(1, at: start))
        #expect(!window.admits(1, at: start + 60_000_000 - 1))
        #expect(window.admits(1, at: start + 61_000_000))
    }

    @Test func `a clock that goes back opens nothing`() {
        let window = SpentWindow(limit: 2, window: .seconds(60))
        let start: Int64 = 1_700_000_000_000_000
        #expect(window.admits(1, at: start))
        #expect(window.admits(1, at: start - 3_600_000_000))
        #expect(!window.admits(1, at: start - 7_200_000_000))
        #expect(!window.admits(1, at: start + 59_000_000))
    }

    @Test func `a cost above what is left is refused whole`() {
        let window = SpentWindow(limit: 10, window: .seconds(60))
        #expect(window.admits(8, at: 1_000_000))
        let verdict = window.window.spend(3, at: 1_000_000)
        #expect(!verdict.isAdmitted)
        #expect(verdict.remaining == 2)
        #expect(window.admits(2, at: 1_000_000))
    }
}

@Suite struct WindowVerdictTests {
    @Test(arguments: [(0, 1), (1, 1), (999, 1), (1_000, 1), (1_001, 2), (60_500, 61)])
    func `seconds are whole, never too early and at least one`(milliseconds: Int64, seconds: Int) {
        let verdict = WindowVerdict(isAdmitted: false, remaining: 0, resetMilliseconds: milliseconds)
        #expect(verdict.resetSeconds == seconds)
    }
}

@Suite struct WindowEstimateTests {
    private let rule = WindowRule(name: "a", per: [.app], limit: 100, window: .seconds(10))

    @Test func `an estimate admits its share of the limit and then the rate`() {
        let estimate = SpentEstimate(rule: rule, share: 2)
        var admitted = 0
        for _ in 0..<200 where estimate.admits(1, at: 0) { admitted += 1 }
        #expect(admitted == 50)
        // One second refills a tenth of the share.
        admitted = 0
        for _ in 0..<200 where estimate.admits(1, at: 1_000_000_000) { admitted += 1 }
        #expect(admitted == 5)
    }

    @Test func `what the store said last is the most that is spent`() {
        let estimate = SpentEstimate(rule: rule, share: 1)
        estimate.estimate.learned(remaining: 3, at: 0)
        #expect(estimate.admits(3, at: 0))
        #expect(!estimate.admits(1, at: 0))
    }

    @Test func `a long pause refills to the share and no further`() {
        let estimate = SpentEstimate(rule: rule, share: 1)
        estimate.estimate.learned(remaining: 0, at: 0)
        #expect(!estimate.admits(1, at: 0))
        #expect(!estimate.admits(101, at: .max / 2))
        #expect(estimate.admits(100, at: .max / 2))
    }

    @Test func `the largest limit over the longest window does not overflow`() {
        let rule = WindowRule(name: "a", per: [.app], limit: 1_000_000_000, window: .seconds(31 * 86_400))
        let estimate = SpentEstimate(rule: rule, share: 1)
        #expect(estimate.admits(1_000_000_000, at: 0))
        #expect(!estimate.admits(1, at: 1))
        #expect(estimate.admits(1_000_000_000, at: .max))
    }
}
