// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// The HTTP/2 connections of a worker that have frames to send when the turn ends; holds them until then.
@Reactor
final class HTTP2Turn {
    private var waiting: [HTTP2Downstream] = []
    private var sending: [HTTP2Downstream] = []
    private lazy var turnEnd = TurnEnd(loop: loop) { [unowned self] in turnEnded() }
    private let loop: EventLoop

    init(loop: EventLoop) {
        self.loop = loop
    }

    func enlist(_ connection: HTTP2Downstream) {
        waiting.append(connection)
        turnEnd.enlist()
    }

    /// What is enlisted meanwhile waits for the next turn, and so do those for whom this one has no time left.
    private func turnEnded() {
        swap(&waiting, &sending)
        var done = 0
        for connection in sending {
            connection.turnEnded()
            done += 1
            if done & 3 == 0, done < sending.count, loop.isLate { return putOff(from: done) }
        }
        sending.removeAll(keepingCapacity: true)
    }

    private func putOff(from first: Int) {
        sending.removeFirst(first)
        swap(&waiting, &sending)
        waiting.append(contentsOf: sending)
        sending.removeAll(keepingCapacity: true)
        turnEnd.enlist()
    }
}
