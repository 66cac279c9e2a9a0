// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Limits
package import Transport

/// One whole request to a listener of control.
package struct SmallRequest: Sendable {
    package var method: String
    /// As it was sent, percent-encoding untouched.
    package var path: String
    package var query: String
    package var body: [UInt8]
    /// The name of the peer's user on a Unix socket, else empty.
    package var by: String
    /// Which host the request is for.
    package var authority = ""
    /// What `Authorization` says; empty when it did not come.
    package var authorization = ""
}

/// One whole answer.
package struct SmallAnswer: Sendable {
    package var status: Int
    package var contentType: String
    package var body: [UInt8]

    package init(status: Int, contentType: String, body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }
}

extension SmallAnswer {
    /// A few words of plain text.
    static func text(_ status: Int, _ words: String) -> SmallAnswer {
        SmallAnswer(status: status, contentType: "text/plain; charset=utf-8", body: Array(words.utf8))
    }
}

/// A server for the admin and metrics listeners: few connections, whole messages, a deadline on each step.
///
/// Never on the data path. Isolated to the Reactor.
@Reactor
package final class SmallHTTPServer: ConnectionTaker {
    /// What one server lets its peers do.
    package struct Limits: Sendable {
        /// Connections at once: for one more an idle one gives way, else the oldest without a whole request, else it is
        /// closed at once.
        package var connections = 64
        /// Connections at once from one network; nil: as many as there may be at all, for a Unix socket.
        package var connectionsPerNetwork: Int?
        package var bodyBytes = 16 << 20
        /// For the handshake and the head of the first request.
        package var headDeadline = Duration.seconds(15)
        /// For the next request after an answer.
        package var idleDeadline = Duration.seconds(15)
        /// For the body behind it.
        package var bodyDeadline = Duration.seconds(15)

        package init() {}

        /// Where anybody may connect: idle connections of one network leave room for others, and not for long.
        package static func network(connections: Int, perNetwork: Int) -> Limits {
            var limits = Limits()
            limits.connections = connections
            limits.connectionsPerNetwork = perNetwork
            limits.headDeadline = .seconds(3)
            limits.idleDeadline = .seconds(3)
            return limits
        }
    }

    let limits: Limits
    let answer: @Reactor (SmallRequest) async -> SmallAnswer
    /// What is said, with this status and these words, to a request that cannot be read whole.
    let refusal: (Int, String) -> SmallAnswer
    /// Ends TLS of new connections; nil: clear text, for a Unix socket or inside.
    package var tls: TLSServerContext?
    private let loop: EventLoop
    private var socket: ListeningSocket?
    private var connections: [ObjectIdentifier: SmallHTTPConnection] = [:]
    /// Counts what connections went through, so that one is older than another.
    private var steps = 0
    /// How many there are from each network, where that is bounded.
    private var networks: [ClientNetwork: Int] = [:]

    package init(
        loop: EventLoop,
        limits: Limits = Limits(),
        tls: TLSServerContext? = nil,
        refusal: @escaping (Int, String) -> SmallAnswer = { .text($0, "\($1)\n") },
        answer: @escaping @Reactor (SmallRequest) async -> SmallAnswer
    ) {
        self.loop = loop
        self.limits = limits
        self.tls = tls
        self.refusal = refusal
        self.answer = answer
    }

    /// Begins to accept on a listening descriptor.
    package func start(adopting descriptor: CInt) throws(SystemError) {
        let socket = try ListeningSocket(loop: loop, adopting: descriptor)
        try socket.start(taker: self)
        self.socket = socket
    }

    package func connectionAccepted(_ connection: AcceptedConnection, on socket: ListeningSocket) {
        var network: ClientNetwork?
        if let most = limits.connectionsPerNetwork, let peer = connection.peer.ipAddress?.network {
            guard networks[peer, default: 0] < most || hasOneGiveWay(of: peer) else { return connection.close() }
            network = peer
        }
        guard connections.count < limits.connections || hasOneGiveWay(of: nil) else { return connection.close() }
        if let peer = network {
            networks[peer, default: 0] += 1
        }
        let by = PeerUser.name(of: connection.descriptor)
        let stream =
            tls.map { ByteStream(loop: loop, accepted: connection, tls: $0) }
            ?? ByteStream(loop: loop, accepted: connection)
        let made = SmallHTTPConnection(server: self, stream: stream, by: by, network: network, loop: loop)
        connections[ObjectIdentifier(made)] = made
        made.start()
    }

    /// Has one connection make room: the one that is idle longest after an answer, whose peer loses nothing by it, else
    /// the oldest that owes its handshake or head, and where each has one, the oldest that owes a body.
    private func hasOneGiveWay(of network: ClientNetwork?) -> Bool {
        let owing = connections.values.filter { $0.owesRequest && (network == nil || $0.network == network) }
        guard let first = owing.min(by: { ($0.loss, $0.since) < ($1.loss, $1.since) }) else { return false }
        first.giveWay()
        return true
    }

    /// A number above all that were given before.
    func nextStep() -> Int {
        steps += 1
        return steps
    }

    func connectionEnded(_ connection: SmallHTTPConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil, let network = connection.network,
            let count = networks[network]
        else { return }
        networks[network] = count > 1 ? count - 1 : nil
    }
}
