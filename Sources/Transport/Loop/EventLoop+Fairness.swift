// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CLinux
import Telemetry

extension EventLoop {
    /// Lets `source` go on when it is its turn again: by `ready` with nothing new, behind those that wait already.
    func continueLater(_ source: EventSource) {
        busy.append(source)
    }

    /// The lane of a stream that serves many clients: all lanes in turn.
    func nextLane() -> UInt8 {
        latestLane &+= 1
        return latestLane
    }

    /// Whether `source` has to wait behind those that take less of the loop.
    func waitsItsTurn(_ source: EventSource) -> Bool {
        source.isHeavy || source.isWaitingItsTurn || BusySources.isBusy(source, now.nanoseconds)
            || isMeasuring && busy.isLaneBusy(of: source, now.nanoseconds)
    }

    /// Whether so much time has passed in this turn that what can wait should.
    package var isLate: Bool {
        MonotonicInstant.readClock().nanoseconds &- now.nanoseconds > BusySources.eventTime
    }

    /// Whether turns are long at present: slices of work are then to be small.
    package var isCrowded: Bool { isMeasuring }

    /// Whether as much was done at once in this turn as may be; what is asked counts.
    var isPastFreeTurns: Bool {
        freeTurns &+= 1
        return freeTurns > Self.mostFreeTurns
    }

    /// Looks at the clock now and then only: a look at each event would be felt in every request.
    func dispatchAll(_ count: CInt) {
        var index = 0
        while index < count {
            unsafe dispatch(events[index])
            index &+= 1
            guard index & 3 == 0, index >= BusySources.fewEvents, index < count else { continue }
            if isTimeUp(MonotonicInstant.readClock()) { return putOff(from: index, to: count) }
        }
        if count > BusySources.fewEvents { noteLength(of: MonotonicInstant.readClock()) }
    }

    /// Those first that were left over, then the events of this turn.
    func dispatchMeasuring(_ count: CInt) {
        var before = now
        var done: CInt = 0
        while let source = late.popFirst() {
            source.isWaitingItsTurn = false
            let readiness = source.heldReadiness
            source.heldReadiness = []
            if source.isRegistered { source.ready(readiness) }
            let after = MonotonicInstant.readClock()
            charge(source, before, after)
            before = after
            done &+= 1
            if done >= BusySources.fewEvents, isTimeUp(before) { return putOff(from: 0, to: count) }
        }
        var index = 0
        while index < count {
            let pointer = unsafe events[index].data.ptr
            unsafe dispatch(events[index])
            let after = MonotonicInstant.readClock()
            if let pointer = unsafe pointer {
                unsafe Unmanaged<EventSource>.fromOpaque(pointer)._withUnsafeGuaranteedRef { charge($0, before, after) }
            }
            before = after
            index &+= 1
            done &+= 1
            if done >= BusySources.fewEvents, index < count, isTimeUp(before) {
                return putOff(from: index, to: count)
            }
        }
        noteLength(of: before)
    }

    private func isTimeUp(_ moment: MonotonicInstant) -> Bool {
        moment.nanoseconds &- now.nanoseconds > BusySources.eventTime
    }

    private func putOff(from first: Int, to count: CInt) {
        for index in first..<Int(count) { unsafe putOff(events[index]) }
        isMeasuring = true
    }

    private func noteLength(of end: MonotonicInstant) {
        isMeasuring = !busy.isEmpty || end.nanoseconds &- now.nanoseconds > BusySources.longTurn
    }

    private func charge(_ source: EventSource, _ before: MonotonicInstant, _ after: MonotonicInstant) {
        let cost = after.nanoseconds &- before.nanoseconds
        busy.chargeLane(of: source, cost, now: now.nanoseconds)
        guard BusySources.charge(source, cost, now: now.nanoseconds) else { return }
        if let stream = source as? ByteStream { onBusy?(stream) }
    }

    /// Busy sources do a slice of work each: for as long as the others took where the turn is not long by then, and for
    /// their own share at least.
    func runBusy() {
        let began = MonotonicInstant.readClock()
        let taken = began.nanoseconds &- now.nanoseconds
        let room = BusySources.fullTurn &- min(taken, BusySources.fullTurn)
        let end = began.nanoseconds &+ max(busyNanoseconds, min(taken, room))
        var before = began
        repeat {
            guard let source = busy.popFirst() else { break }
            let readiness = source.heldReadiness
            source.heldReadiness = []
            // A handshake is no sign of more to come.
            let isCharged = !source.isHeavy
            if source.isRegistered { source.ready(readiness) }
            let after = MonotonicInstant.readClock()
            if isCharged { charge(source, before, after) }
            before = after
        } while before.nanoseconds < end
        isMeasuring = isMeasuring || !busy.isEmpty
    }
}
