// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// The HTTP/2 connections of a pool that have something to send when the turn ends.
///
/// Isolated to the Reactor; owned by the pool. A connection on the list is held by it, and holds the pool, so that
/// neither is gone when its turn comes.
@Reactor
final class UpstreamTurn {
    private let loop: EventLoop
    private var connections: [HTTP2Upstream] = []
    private lazy var turnEnd = TurnEnd(loop: loop) { [unowned self] in flush() }

    init(loop: EventLoop) {
        self.loop = loop
    }

    func enlist(_ connection: HTTP2Upstream) {
        connections.append(connection)
        turnEnd.enlist()
    }

    private func flush() {
        let due = connections
        connections = []
        for connection in due { connection.turnEnded() }
    }
}
