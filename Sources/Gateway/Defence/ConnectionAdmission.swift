// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Limits
import Transport

/// Decides which accepted connections a worker takes, before a byte of them is read.
///
/// Owned by the worker. Trusted balancers are many clients at one address: rates are not for them.
struct ConnectionAdmission: ~Copyable {
    private var connections = AddressRates()
    private var handshakes = AddressRates()
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
        guard connections.spend(settings.rate, network, now: now.nanoseconds) else { return .connectionRate }
        guard isTLS, !handshakes.spend(settings.handshakes, network, now: now.nanoseconds) else { return nil }
        return .handshakeRate
    }

    /// A handshake that was paid for resumed an earlier session, which costs next to nothing.
    mutating func handshakeResumed(_ client: IPAddress, _ settings: ConnectionSettings) {
        handshakes.refund(settings.handshakes, client.network)
    }
}
