// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Telemetry
import Transport

/// A TLS connection before its protocol is known: ALPN then decides who owns it.
///
/// Isolated to the Reactor; held by its stream and the worker until the handshake ends.
@Reactor
final class HandshakingConnection: StreamOwner, ClientConnection {
    private let worker: Worker
    private let stream: ByteStream
    var facts: ClientConnectionFacts
    /// Who has the stream since the handshake's end: for those who know this object still.
    private(set) var successor: (any ClientConnection)?
    private var isLeaving = false
    private lazy var timer = LoopTimer(loop: worker.loop) { [unowned self] in end() }

    init(stream: ByteStream, facts: ClientConnectionFacts, worker: Worker) {
        self.stream = stream
        self.facts = facts
        self.worker = worker
    }

    func streamSecured(_ stream: ByteStream, _ session: TLSSessionFacts) {
        facts.session = session
        if session.isResumed, !facts.isTrustedProxy {
            worker.admission.handshakeResumed(facts.peer, worker.snapshot.settings.connections)
        }
        (session.isResumed ? worker.metrics.handshakesResumed : worker.metrics.handshakesFull).increment()
        if session.applicationProtocol == ApplicationProtocol.http2.rawValue {
            guard let downstream = HTTP2Downstream(stream: stream, facts: facts, worker: worker) else { return end() }
            hand(to: downstream)
            downstream.greet()
        } else {
            hand(to: HTTP1Downstream(stream: stream, facts: facts, worker: worker))
        }
    }

    private func hand(to downstream: some ClientConnection & StreamOwner) {
        stream.owner = downstream
        successor = downstream
        worker.connectionSecured(self, as: downstream)
        timer.cancel()
        if isLeaving { downstream.drain() }
    }

    func streamReceived(_ stream: ByteStream) {}

    func streamEnded(_ stream: ByteStream) {
        end()
    }

    func streamClosed(_ stream: ByteStream, _ failure: StreamFailure?) {
        worker.metrics.handshakesFailed.increment()
        if failure == .handshakeDeadlinePassed { worker.defences.note(.slowHandshake, client: facts.peerText) }
        worker.connectionClosed(self)
    }

    /// The request that the handshake is for is on its way already.
    func drain() {
        guard !isLeaving else { return }
        isLeaving = true
        timer.arm(after: Self.patience)
    }

    func cut(by end: MonotonicInstant) { self.end() }

    private func end() {
        stream.close()
        worker.connectionClosed(self)
    }

    /// What is left of a handshake takes two round trips.
    private static let patience = Duration.seconds(1)
}
