// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

extension Worker {
    /// Tells the open connections that another configuration is in force, some at a time, and returns when all know.
    ///
    /// Whom a connection is believed, and what it may ask of us, was decided when it opened. Where that is decided
    /// otherwise now, its next request is judged by the new; requests under way keep what they began with. Only where
    /// the listener is gone, or takes its clients' addresses from others now, it ends as in a drain.
    func tellConnections(_ former: GatewaySnapshot) async {
        let change = ConnectionChange(from: former, to: snapshot)
        for (index, connection) in Array(connections.values).enumerated() {
            if index % Self.toldAtOnce == Self.toldAtOnce - 1 { await loop.nextTurn() }
            let present = (connection as? HandshakingConnection)?.successor ?? connection
            guard connections[ObjectIdentifier(present)] != nil else { continue }
            if change.ends(present.facts) {
                present.drain()
            } else {
                if change.concerns(present.facts) { renewFacts(of: present) }
                present.configurationChanged()
            }
        }
    }

    private static let toldAtOnce = 256

    private func renewFacts(of connection: any ClientConnection) {
        let former = connection.facts
        let renewed = former.renewed(under: snapshot)
        connection.facts = renewed
        // A trusted proxy is many clients, and counted as none.
        switch (former.isTrustedProxy, renewed.isTrustedProxy) {
        case (true, false): renewed.share = admission.opened(renewed.peer)
        case (false, true):
            renewed.share = nil
            admission.closed(renewed.peer)
        case (true, true), (false, false): break
        }
    }
}

/// What two configurations say differently about connections that are open.
@Reactor
struct ConnectionChange {
    /// The listeners of which connections are served otherwise.
    private var changed: Set<Int> = []
    /// Those of which no connection stays.
    private var ended: Set<Int> = []
    private let after: GatewaySnapshot
    private let movesTrust: Bool

    init(from former: GatewaySnapshot, to after: GatewaySnapshot) {
        self.after = after
        movesTrust = former.trustedProxies != after.trustedProxies
        for (index, before) in former.settings.listeners.enumerated() {
            guard index < after.settings.listeners.count else {
                ended.insert(index)
                continue
            }
            let now = after.settings.listeners[index]
            if before.proxyProtocol != now.proxyProtocol || before.traffic.isTLS != now.traffic.isTLS {
                ended.insert(index)
            }
            if !before.serves(like: now) { changed.insert(index) }
        }
    }

    /// Whether a connection with these facts may not go on.
    func ends(_ facts: ClientConnectionFacts) -> Bool { ended.contains(facts.listener) }

    /// Whether a connection with these facts would be given others now.
    func concerns(_ facts: ClientConnectionFacts) -> Bool {
        changed.contains(facts.listener) || movesTrust && after.trusts(facts.peer) != facts.isTrustedProxy
    }
}

extension GatewaySnapshot {
    /// Whether `peer` is one of `client_address.trusted_proxies`.
    func trusts(_ peer: IPAddress) -> Bool { trustedProxies.contains { $0.contains(peer) } }
}

extension ListenerTraffic {
    /// The port of the addresses that a listener which only redirects names.
    var redirectPort: UInt16? {
        guard case .redirectToHTTPS(let port) = self else { return nil }
        return port
    }

    fileprivate var isTLS: Bool {
        switch self {
        case .tls: true
        case .clear, .redirectToHTTPS: false
        }
    }
}

extension ListenerSettings {
    /// Whether connections of both may ask the same of us.
    fileprivate func serves(like other: ListenerSettings) -> Bool {
        serves == other.serves && limits == other.limits && traffic.redirectPort == other.traffic.redirectPort
    }
}
