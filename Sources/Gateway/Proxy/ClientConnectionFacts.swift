// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// What is known of a client's connection, made when it opens and shared by its exchanges.
@Reactor
final class ClientConnectionFacts {
    let peer: IPAddress
    /// With whom its client takes turns where a worker has more to do than it can.
    let lane: UInt8
    /// The peer's address as the log writes it.
    let peerText: String
    /// Whether the peer is one of `client_address.trusted_proxies`: only then do its forwarding fields count.
    let isTrustedProxy: Bool
    /// The place of the listener in the configuration.
    let listener: Int
    /// What chose the connection's certificate; nil in clear text.
    let tls: TLSServerContext?
    /// What the TLS handshake agreed on, once it is done.
    var session: TLSSessionFacts?
    /// What its client's network has of the worker; nil for a trusted proxy, which is many clients.
    var share: ClientShare?
    /// The host that was last found to be served on this connection, as bytes.
    var servedHost: [UInt8] = []
    /// Set on a listener that only redirects to https.
    let redirectPort: UInt16?
    /// The endpoints that the listener serves itself; nil: none.
    let endpoints: LocalEndpointTable?

    /// Whether the client's bytes are encrypted on their way to us.
    var isTLS: Bool { tls != nil }

    /// The address of a connection without one: a Unix socket's peer.
    nonisolated static let nobody = IPAddress(v6High: 0, low: 0)

    init(
        peer: IPAddress,
        isTrustedProxy: Bool,
        listener: Int,
        tls: TLSServerContext?,
        redirectPort: UInt16?,
        endpoints: LocalEndpointTable?
    ) {
        self.peer = peer
        self.lane = peer.lane
        self.peerText = peer.description
        self.isTrustedProxy = isTrustedProxy
        self.listener = listener
        self.tls = tls
        self.redirectPort = redirectPort
        self.endpoints = endpoints
    }

    /// What is known of the connection under another configuration, in which its listener is still there.
    func renewed(under snapshot: GatewaySnapshot) -> ClientConnectionFacts {
        let renewed = ClientConnectionFacts(
            peer: peer,
            isTrustedProxy: snapshot.trusts(peer),
            listener: listener,
            tls: tls,
            redirectPort: snapshot.settings.listeners[listener].traffic.redirectPort,
            endpoints: snapshot.endpoints[listener]
        )
        renewed.session = session
        renewed.share = share
        return renewed
    }
}
