// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Gateway

@Suite struct ChildPulseTests {
    /// What each of `count` looks a second apart says of a child that gives no sign.
    private func silent(
        _ count: Int,
        elapsed: Duration = .seconds(1),
        isStarting: Bool = false
    ) -> [ChildPulse.Standing] {
        var pulse = ChildPulse(beats: 7)
        return (0..<count).map { _ in pulse.looked(at: 7, after: elapsed, isStarting: isStarting) }
    }

    @Test func `a child that gives signs is well for ever`() {
        var pulse = ChildPulse(beats: 0)
        for beat in 1...1000 {
            #expect(pulse.looked(at: UInt64(beat), after: .seconds(1), isStarting: false) == .well)
        }
    }

    @Test func `one that gives none is late after three seconds and has hung after ten`() {
        let standings = silent(10)
        #expect(standings == [.well, .well] + Array(repeating: .late, count: 7) + [.hung])
    }

    @Test func `one sign in time makes it well again`() {
        var pulse = ChildPulse(beats: 0)
        for _ in 0..<9 { _ = pulse.looked(at: 0, after: .seconds(1), isStarting: false) }
        #expect(pulse.looked(at: 1, after: .seconds(1), isStarting: false) == .well)
        #expect(pulse.silence == .zero)
        #expect(pulse.looked(at: 1, after: .seconds(1), isStarting: false) == .well)
    }

    @Test func `one sign between two looks suffices when timers drift`() {
        var pulse = ChildPulse(beats: 0)
        for round in 0..<100 {
            #expect(pulse.looked(at: UInt64(round), after: .seconds(1), isStarting: false) == .well)
            #expect(pulse.looked(at: UInt64(round), after: .seconds(1), isStarting: false) == .well)
        }
    }

    @Test func `time in which the supervisor did not look says nothing of a child`() {
        #expect(silent(1, elapsed: .seconds(3600)) == [.well], "the machine slept for an hour")
        #expect(silent(4, elapsed: .seconds(3600)).last == .late, "but four sleeps in a row without a sign count")
        #expect(silent(5, elapsed: .seconds(3600)).last == .hung)
    }

    @Test func `a child that starts may read files for a minute`() {
        let standings = silent(60, isStarting: true)
        #expect(standings == Array(repeating: .well, count: 59) + [.hung])
    }

    @Test func `what a predecessor counted is no sign of its successor`() {
        var pulse = ChildPulse(beats: 500)
        #expect(pulse.looked(at: 500, after: .seconds(1), isStarting: false) == .well)
        #expect(pulse.silence == .seconds(1))
    }
}

@Suite struct FailedStartTests {
    @Test func `a start that fails is tried less and less often, and for ever`() {
        let pauses = (1...9).map { RestartPolicy.pause(afterFailedStarts: $0) }
        #expect(pauses.prefix(4) == [.seconds(2), .seconds(4), .seconds(8), .seconds(16)])
        #expect(pauses.suffix(4) == [.seconds(60), .seconds(60), .seconds(60), .seconds(60)])
        #expect(RestartPolicy.pause(afterFailedStarts: .max) == .seconds(60))
    }

    @Test func `what control says of Redis counts while it starts, a look late, and not once it is silent`() {
        var control = ChildPulse(beats: 4)
        #expect(!control.tellsOfOthers, "it has said nothing yet")
        _ = control.looked(at: 5, after: .seconds(1), isStarting: true)
        #expect(control.tellsOfOthers)
        _ = control.looked(at: 5, after: .seconds(1), isStarting: true)
        #expect(control.tellsOfOthers, "timers drift")
        for _ in 0..<2 { _ = control.looked(at: 5, after: .seconds(1), isStarting: true) }
        #expect(!control.tellsOfOthers, "it hangs itself: nothing is known of Redis")
        _ = control.looked(at: 6, after: .seconds(1), isStarting: false)
        #expect(control.tellsOfOthers)
    }
}
