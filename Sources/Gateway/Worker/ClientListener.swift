// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// Accepts the connections of one listening socket and gives each its protocol.
///
/// Isolated to the Reactor; owned by the worker.
@Reactor
final class ClientListener: ConnectionTaker {
    /// The socket it accepts from.
    let descriptor: CInt
    private let worker: Worker
    private let index: Int
    private let socket: ListeningSocket

    init(_ descriptor: CInt, index: Int, worker: Worker) throws(SystemError) {
        self.descriptor = descriptor
        self.worker = worker
        self.index = index
        self.socket = try ListeningSocket(loop: worker.loop, adopting: descriptor)
        socket.onExhausted = { [unowned worker] in worker.noteExhausted($0) }
        try socket.start(taker: self)
    }

    func close() {
        socket.stop(closes: false)
    }

    /// Nobody is to come any more: who has come by now is still served.
    func closeForGood() {
        socket.acceptLast()
        close()
    }

    func connectionAccepted(_ connection: AcceptedConnection, on socket: ListeningSocket) {
        guard index < worker.snapshot.settings.listeners.count else { return connection.close() }
        if let defence = worker.closedDoor { return turnAway(connection, defence) }
        guard let proxy = worker.snapshot.settings.listeners[index].proxyProtocol else { return open(connection) }
        let balancer = connection.peer
        guard let address = balancer.ipAddress, proxy.sources.contains(where: { $0.contains(address) }) else {
            return turnAway(connection, .proxyUnlisted)
        }
        worker.admission.prefaces += 1
        let preface = ProxyPreface(loop: worker.loop, accepted: connection, isRequired: proxy.isRequired) { [self] in
            worker.admission.prefaces -= 1
            switch $0 {
            case .success(let connection): open(connection)
            case .failure(let failure):
                guard let defence = Defence(failure) else { return }
                worker.defences.note(defence, client: balancer.description)
            }
        }
        preface.start(deadline: worker.snapshot.settings.timeouts.handshake)
    }

    private func turnAway(_ connection: AcceptedConnection, _ defence: Defence) {
        worker.defences.note(defence, client: connection.peer.ipAddress?.description ?? "")
        connection.close()
    }

    /// Serves a connection whose client is known.
    private func open(_ connection: AcceptedConnection) {
        let snapshot = worker.snapshot
        guard index < snapshot.settings.listeners.count else { return connection.close() }
        let settings = snapshot.settings.listeners[index]
        let address = connection.peer.ipAddress ?? ClientConnectionFacts.nobody
        let isTrusted = snapshot.trusts(address)
        let refusal = worker.admission.refusal(
            address,
            isTLS: snapshot.tls[index] != nil,
            isTrusted: isTrusted,
            snapshot.settings.connections,
            now: worker.loop.now
        )
        if let refusal { return turnAway(connection, refusal) }
        let tls = snapshot.tls[index]?.context
        let facts = ClientConnectionFacts(
            peer: address,
            isTrustedProxy: isTrusted,
            listener: index,
            tls: tls,
            redirectPort: settings.traffic.redirectPort,
            endpoints: snapshot.endpoints[index]
        )
        let stream = ByteStream(loop: worker.loop, accepted: connection, tls: tls, limits: snapshot.streamLimits)
        if tls != nil {
            start(stream, HandshakingConnection(stream: stream, facts: facts, worker: worker))
        } else {
            start(stream, HTTP1Downstream(stream: stream, facts: facts, worker: worker))
        }
    }

    private func start(_ stream: ByteStream, _ connection: some ClientConnection & StreamOwner) {
        worker.connectionOpened(connection)
        stream.start(owner: connection)
        if worker.isDraining { connection.drain() }
    }
}
