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
        try socket.start(taker: self)
    }

    func close() {
        socket.stop(closes: false)
    }

    func connectionAccepted(_ connection: AcceptedConnection, on socket: ListeningSocket) {
        guard worker.hasRoom, index < worker.snapshot.settings.listeners.count else { return connection.close() }
        let settings = worker.snapshot.settings.listeners[index]
        let address = connection.peer.ipAddress ?? ClientConnectionFacts.nobody
        var redirectPort: UInt16?
        if case .redirectToHTTPS(let port) = settings.traffic { redirectPort = port }
        let tls = worker.snapshot.tls[index]
        let facts = ClientConnectionFacts(
            peer: address,
            isTrustedProxy: worker.snapshot.trustedProxies.contains { $0.contains(address) },
            isTLS: tls != nil,
            redirectPort: redirectPort,
            endpoints: worker.snapshot.endpoints[index]
        )
        let stream = ByteStream(loop: worker.loop, accepted: connection, tls: tls, limits: worker.snapshot.streamLimits)
        let downstream = HTTP1Downstream(stream: stream, facts: facts, worker: worker)
        worker.connectionOpened(downstream)
        stream.start(owner: downstream)
    }
}
