// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

extension Worker {
    /// Tells the open connections that another configuration is in force, some at a time.
    ///
    /// Whom a connection is believed, and what it may ask of us, was decided when it opened: where that would be decided
    /// otherwise now it ends as in a drain, and its client opens another. Those are waited for: a reload that says it is done
    /// believes nobody whom it should not. A handshake that ends meanwhile hands on what it is told.
    func tellConnections(_ former: GatewaySnapshot) async {
        let change = ConnectionChange(from: former, to: snapshot)
        var others: [any ClientConnection] = []
        var ended = 0
        for connection in Array(connections.values) {
            guard change.concerns(connection.facts) else {
                others.append(connection)
                continue
            }
            connection.drain()
            ended += 1
            if ended.isMultiple(of: Self.toldAtOnce) { await loop.nextTurn() }
        }
        Task { @Reactor [loop, others] in
            for (index, connection) in others.enumerated() {
                connection.configurationChanged()
                if index % Self.toldAtOnce == Self.toldAtOnce - 1 { await loop.nextTurn() }
            }
        }
    }

    private static let toldAtOnce = 64
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
