// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

/// The deadlines of one HTTP/2 connection to an upstream: its connect, its silence while requests wait, its idleness.
///
/// Isolated to the Reactor; owned by its connection. A connection whose peer has vanished without a word would fail
/// every request until its time is out, so silence is asked about with a PING.
@Reactor
final class UpstreamWatch {
    private enum Wait {
        case connect, silence, pong, idle
    }

    /// Silence with requests under way that is worth a question: many times what an answer inside a network takes.
    private static let silence = Duration.seconds(5)
    /// How long the answer to the question may take: two lost packets.
    private static let patience = Duration.seconds(5)
    /// gRPC servers end connections that ask more often while nothing is answered (`too_many_pings`).
    private static let betweenPings = Duration.seconds(300)

    private unowned let connection: HTTP2Upstream
    private let loop: EventLoop
    private let timer: LoopTimer
    private var wait = Wait.connect
    private var lastHeard: MonotonicInstant
    private var pingedAt: MonotonicInstant
    /// When the next question may be asked.
    private var nextPing: MonotonicInstant

    init(_ connection: HTTP2Upstream) {
        self.connection = connection
        loop = connection.pool.loop
        timer = LoopTimer(loop: loop)
        lastHeard = loop.now
        pingedAt = loop.now
        nextPing = loop.now
        timer.onFire = { [unowned self] in fired() }
    }

    func connecting(until look: MonotonicInstant) {
        wait = .connect
        timer.arm(at: look)
    }

    /// A request is under way.
    func busy() {
        guard wait != .silence, wait != .pong else { return }
        wait = .silence
        lastHeard = loop.now
        timer.arm(after: Self.silence)
    }

    /// No request is under way.
    func idle() {
        wait = .idle
        timer.arm(after: connection.pool.settings.pool.idleTimeout)
    }

    func stop() { timer.cancel() }

    /// Bytes came.
    func heard() { lastHeard = loop.now }

    /// Part of an answer came: the peer forgives another question.
    func heardAnswer() { nextPing = loop.now }

    func heardPong() {
        guard wait == .pong else { return }
        wait = .silence
        timer.arm(after: Self.silence)
    }

    private func fired() {
        switch wait {
        case .connect: connection.connectIsLate()
        case .idle: connection.retire()
        case .pong:
            guard lastHeard > pingedAt else { return connection.fail(.closedEarly) }
            wait = .silence
            timer.arm(at: lastHeard.advanced(by: Self.silence))
        case .silence:
            let next = max(lastHeard.advanced(by: Self.silence), nextPing)
            guard loop.now >= next else { return timer.arm(at: next) }
            pingedAt = loop.now
            nextPing = loop.now.advanced(by: Self.betweenPings)
            wait = .pong
            timer.arm(after: Self.patience)
            connection.session.ping()
            connection.outputWaits()
        }
    }
}
