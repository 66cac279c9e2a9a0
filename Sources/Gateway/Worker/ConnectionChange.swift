// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

extension Worker {
    /// Tells the open connections that another configuration is in force, some a turn of the loop.
    ///
    /// Whom a connection is believed, and what it may ask of us, was decided when it opened: where that would be decided
    /// otherwise now it ends as in a drain, and its client opens another.
    func tellConnections(_ former: GatewaySnapshot) {
        let change = ConnectionChange(from: former, to: snapshot)
        let open = Array(connections.values)
        Task { @Reactor [loop] in
            for (index, connection) in open.enumerated() {
                if change.concerns(connection.facts) { connection.drain() } else { connection.configurationChanged() }
                if index % Self.toldPerTurn == Self.toldPerTurn - 1 { await loop.nextTurn() }
            }
        }
    }

    private static let toldPerTurn = 64
}

/// What two configurations say differently about connections that are open.
@Reactor
struct ConnectionChange {
    /// The listeners of which connections are served otherwise.
    private let listeners: Set<Int>
    private let after: GatewaySnapshot
    private let movesTrust: Bool

    init(from former: GatewaySnapshot, to after: GatewaySnapshot) {
        self.after = after
        movesTrust = former.trustedProxies != after.trustedProxies
        var listeners: Set<Int> = []
        for (index, before) in former.settings.listeners.enumerated() {
            let isSame = index < after.settings.listeners.count && before.serves(like: after.settings.listeners[index])
            if !isSame { listeners.insert(index) }
        }
        self.listeners = listeners
    }

    /// Whether a connection with these facts would be given others now.
    func concerns(_ facts: ClientConnectionFacts) -> Bool {
        if listeners.contains(facts.listener) { return true }
        return movesTrust && after.trustedProxies.contains { $0.contains(facts.peer) } != facts.isTrustedProxy
    }
}

extension ListenerTraffic {
    /// The port of the addresses that a listener which only redirects names.
    var redirectPort: UInt16? {
        guard case .redirectToHTTPS(let port) = self else { return nil }
        return port
    }
}

extension ListenerSettings {
    /// Whether connections of both may ask the same of us.
    fileprivate func serves(like other: ListenerSettings) -> Bool {
        serves == other.serves && limits == other.limits && traffic.redirectPort == other.traffic.redirectPort
    }
}
