// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import CLinux
import Telemetry

extension EventLoop {
    /// Lets `source` go on when it is its turn again: by `ready` with nothing new, behind those that wait already.
    func continueLater(_ source: EventSource) {
        busy.append(source)
    }

    /// The lane of a stream that serves a client whom it does not know: all lanes in turn.
    func nextLane() -> UInt8 {
        latestLane &+= 1
        return latestLane
    }

    /// Whether `source` has to wait behind those that take less of the loop.
    func waitsItsTurn(_ source: EventSource) -> Bool {
        source.isHeavy || source.isWaitingItsTurn || BusySources.isBusy(source, now.nanoseconds)
    }

    func dispatchMeasuring(_ count: CInt) {
        var before = now
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
        }
        noteLength(of: before)
    }

    func noteLength(of end: MonotonicInstant) {
        isMeasuring = !busy.isEmpty || end.nanoseconds &- now.nanoseconds > BusySources.longTurn
    }

    private func charge(_ source: EventSource, _ before: MonotonicInstant, _ after: MonotonicInstant) {
        guard BusySources.charge(source, after.nanoseconds &- before.nanoseconds, now: now.nanoseconds) else { return }
        if let stream = source as? ByteStream { onBusy?(stream) }
    }

    /// Busy sources do a slice of work each: for as long as the others took, or their own share where that is more.
    func runBusy() {
        let began = MonotonicInstant.readClock()
        let end = began.nanoseconds &+ max(busyNanoseconds, began.nanoseconds &- now.nanoseconds)
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
