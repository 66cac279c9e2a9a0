// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// One group of equal servers that requests are forwarded to.
package struct UpstreamSettings: Sendable, Equatable {
    package var name: String
    package var endpoints: [EndpointSettings]
    /// What is spoken to the endpoints; WebSockets are always asked for by HTTP/1.1.
    package var protocolSpoken: UpstreamProtocol
    package var tls: UpstreamTLSSettings
    package var timeouts: UpstreamTimeoutSettings
    package var pool: PoolSettings
    package var ejection: EjectionSettings
}

/// What is spoken to an upstream.
package enum UpstreamProtocol: String, Sendable, CaseIterable {
    case http11 = "http/1.1"
    case h2
}

/// One server of an upstream.
package struct EndpointSettings: Sendable, Hashable {
    package var address: ConfiguredAddress
    package var usesTLS: Bool
    /// The endpoint as written, for logs and metrics.
    package var text: String
}

/// How an https upstream is verified.
package struct UpstreamTLSSettings: Sendable, Equatable {
    /// PEM file of the authorities to trust; nil: the system's.
    package var authorities: String?
    /// The name sent and verified; nil: the endpoint's host.
    package var serverName: String?
    package var verifies: Bool
}

/// Deadlines of one exchange with an upstream; a route may override each.
package struct UpstreamTimeoutSettings: Sendable, Equatable {
    package var connect: Duration
    package var firstByte: Duration
    package var idle: Duration
    package var total: Duration
}

/// Keep-alive connections of one worker to each endpoint.
package struct PoolSettings: Sendable, Equatable {
    /// Idle connections that are kept.
    package var idle: Int
    /// How long an idle connection is kept.
    package var idleTimeout: Duration
    /// Open connections, busy and idle.
    package var connections: Int
}

/// When an endpoint that fails is left alone for a while.
package struct EjectionSettings: Sendable, Equatable {
    /// Consecutive failures that eject; 0 never ejects.
    package var failures: Int
    package var duration: Duration
}
