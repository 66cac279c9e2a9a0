// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Gateway
import Testing
import Transport

@Suite struct KeySetScheduleTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    private func at(_ seconds: Int) -> MonotonicInstant { start.advanced(by: .seconds(seconds)) }

    @Test func `a schedule asks at once, then as the answer says, within bounds`() {
        var schedule = KeySetSchedule(startingAt: start)
        #expect(schedule.isDue(at: start))
        for (header, wait) in [
            (nil, 600), ("max-age=120", 120), ("public, max-age=5", 60), ("no-store", 60), ("max-age=99999999", 3_600),
            ("max-age=abc", 600),
        ] as [(String?, Int)] {
            schedule.succeeded(at: start, cacheControl: header)
            #expect(!schedule.isDue(at: at(wait - 1)))
            #expect(schedule.isDue(at: at(wait)))
        }
    }

    @Test func `failures are tried again soon, then less and less often, and for ever`() {
        var schedule = KeySetSchedule(startingAt: start)
        for wait in [10, 20, 40, 80, 160, 300, 300, 300] {
            schedule.failed(at: start)
            #expect(!schedule.isDue(at: at(wait - 1)))
            #expect(schedule.isDue(at: at(wait)))
        }
        schedule.succeeded(at: start, cacheControl: nil)
        schedule.failed(at: start)
        #expect(schedule.isDue(at: at(10)))
    }

    @Test func `ten thousand unknown keys cause one fetch in thirty seconds, apart from the timer`() {
        var schedule = KeySetSchedule(startingAt: start)
        schedule.succeeded(at: start, cacheControl: "max-age=3600")
        var fetches: [Int] = []
        for second in 0..<100 {
            for _ in 0..<100 { schedule.keyMissing(at: at(second)) }
            if schedule.isWanted(at: at(second)) {
                fetches.append(second)
                schedule.wantedFetchBegan(at: at(second))
            }
        }
        #expect(fetches == [0, 30, 60, 90])
        #expect(!schedule.isDue(at: at(3_599)))
    }

    @Test func `an unknown key in the pause is fetched for when the pause ends`() {
        var schedule = KeySetSchedule(startingAt: start)
        schedule.wantedFetchBegan(at: start)
        schedule.keyMissing(at: at(5))
        #expect(!schedule.isWanted(at: at(29)))
        #expect(schedule.isWanted(at: at(30)))
    }

    @Test func `a set that came meanwhile answers who wanted one, and leaves the turn for the next unknown key`() {
        var schedule = KeySetSchedule(startingAt: start)
        schedule.keyMissing(at: start)
        schedule.answered()
        #expect(!schedule.isWanted(at: at(100)))
        schedule.keyMissing(at: at(1))
        #expect(schedule.isWanted(at: at(1)))
    }

    @Test func `over all issuers unknown keys cause ten fetches at once, then ten a minute`() {
        var allowance = FetchAllowance()
        var taken: [Int] = []
        for second in 0..<120 {
            for _ in 0..<50 where allowance.take(at: at(second)) { taken.append(second) }
        }
        #expect(taken == Array(repeating: 0, count: 10) + (1..<20).map { $0 * 6 })
        // What was not used is not saved up.
        let later = (0..<50).count { _ in allowance.take(at: at(9_000)) }
        #expect(later == 10)
    }

    @Test func `a fetch that another node makes is given back`() {
        var allowance = FetchAllowance()
        let atOnce = (0..<20).count { _ in allowance.take(at: start) }
        allowance.giveBack()
        let afterwards = (0..<20).count { _ in allowance.take(at: start) }
        #expect(atOnce == FetchAllowance.most && afterwards == 1)
    }

    @Test func `who waits longest is first, so that five that are always wanted leave the sixth its turn`() {
        var schedules = [KeySetSchedule](repeating: KeySetSchedule(startingAt: start), count: 6)
        for index in schedules.indices { schedules[index].succeeded(at: start, cacheControl: "max-age=3600") }
        var allowance = FetchAllowance()
        while allowance.take(at: start) {}
        var fetches = [Int](repeating: 0, count: 6)
        for second in 0..<600 {
            for index in 0..<5 { schedules[index].keyMissing(at: at(second)) }
            if second == 120 { schedules[5].keyMissing(at: at(second)) }
            for index in KeySetSchedule.turns(of: Array(schedules.indices), at: at(second), by: { schedules[$0] }) {
                guard allowance.take(at: at(second)) else { continue }
                schedules[index].wantedFetchBegan(at: at(second))
                fetches[index] += 1
            }
        }
        #expect(fetches[5] == 1)
        #expect(fetches[..<5].allSatisfy { $0 >= 19 })
    }

    @Test func `whose time has not come has no turn`() {
        var waits = KeySetSchedule(startingAt: at(10))
        #expect(KeySetSchedule.turns(of: [waits], at: at(9), by: { $0 }).isEmpty)
        #expect(KeySetSchedule.turns(of: [waits], at: at(10), by: { $0 }).count == 1)
        waits.succeeded(at: at(10), cacheControl: "max-age=3600")
        #expect(KeySetSchedule.turns(of: [waits], at: at(11), by: { $0 }).isEmpty)
    }
}
