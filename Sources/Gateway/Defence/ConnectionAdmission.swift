// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Limits
import Transport

/// Decides which accepted connections a worker takes, before a byte of them is read.
///
/// Owned by the worker. Trusted balancers are many clients at one address: neither rates nor counts are for them.
struct ConnectionAdmission: ~Copyable {
    private var connections = AddressRates()
    private var handshakes = AddressRates()
    private var floods = AddressRates()
    /// Connections that are open, by the network of their client.
    private var open: [ClientNetwork: ClientShare] = [:]
    /// Connections whose PROXY header is still due.
    var prefaces = 0

    /// The defence that turns a connection of `client` away; nil when it is taken.
    mutating func refusal(
        _ client: IPAddress,
        isTLS: Bool,
        isTrusted: Bool,
        _ settings: ConnectionSettings,
        now: MonotonicInstant
    ) -> Defence? {
        guard !isTrusted else { return nil }
        let network = client.network
        guard (open[network]?.connections ?? 0) < settings.perClient else { return .connectionsPerClient }
        guard floods.hasLeft(settings.floods, network, now: now.nanoseconds) else { return .floodsPerClient }
        guard connections.spend(settings.rate, network, now: now.nanoseconds) else { return .connectionRate }
        guard isTLS, !handshakes.spend(settings.handshakes, network, now: now.nanoseconds) else { return nil }
        return .handshakeRate
    }

    /// A connection of `client` was taken; those of a trusted balancer are not to be told.
    mutating func opened(_ client: IPAddress) -> ClientShare {
        let share = open[client.network] ?? ClientShare()
        open[client.network] = share
        share.connections += 1
        return share
    }

    /// A connection that was told of has ended.
    mutating func closed(_ client: IPAddress) {
        guard let share = open[client.network] else { return }
        share.connections -= 1
        if share.connections == 0 { open[client.network] = nil }
    }

    /// A connection of `client` was cut for a flood.
    mutating func flooded(_ client: IPAddress, _ settings: ConnectionSettings, now: MonotonicInstant) {
        _ = floods.spend(settings.floods, client.network, now: now.nanoseconds)
    }

    /// A handshake that was paid for resumed an earlier session, which costs next to nothing.
    mutating func handshakeResumed(_ client: IPAddress, _ settings: ConnectionSettings) {
        handshakes.refund(settings.handshakes, client.network)
    }
}

/// What one client network has of a worker at present, shared by its connections.
final class ClientShare {
    /// Connections that are open.
    fileprivate(set) var connections = 0
    /// Requests under way on them.
    var requests = 0
}
