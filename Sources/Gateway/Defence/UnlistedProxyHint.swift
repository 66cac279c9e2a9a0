// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Telemetry
import Transport

/// Says once that requests come through a proxy that is not listed: all its clients are then counted as one, and a
/// limit for each client is one for all of them.
///
/// Isolated to the Reactor; one for a worker, which says it again after a reload. What a client on the Internet forges
/// is no sign of a proxy; a peer of an inner network that adds `X-Forwarded-For` is one nearly always.
@Reactor
final class UnlistedProxyHint {
    private var isSaid = false
    private static let publicAddresses = OutboundAddresses(exceptions: [])

    /// A peer that is no trusted proxy says for whom it asks.
    func noticed(_ connection: ClientConnectionFacts, log: Log) {
        guard !isSaid, !Self.publicAddresses.permits(connection.peer) else { return }
        isSaid = true
        log.warning(
            "requests come through a proxy that is not listed: its clients are counted as one",
            ["peer": connection.peerText, "setting": "client_address.trusted_proxies"]
        )
    }

    /// Another configuration is in force.
    func forget() { isSaid = false }
}
