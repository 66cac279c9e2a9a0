// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import HTTP
package import Transport

/// What the platform's file means: everything resolved, every default filled in, nothing left to check.
///
/// Built by one door, `load(path:)`, which `run`, `check` and reload share.
package struct Configuration: Sendable {
    /// The file that was read, as it was named.
    package var path: String
    /// What was read, byte for byte.
    package var text: [UInt8] = []
    package var workers: WorkerCount
    /// The account the children drop to when the supervisor runs as root.
    package var user: String?
    package var listeners: [ListenerSettings]
    package var admin: AdminSettings
    /// The listener of `/metrics`, `/livez` and `/readyz`; nil when none is wanted.
    package var metrics: MetricsSettings?
    package var log: LogSettings
    package var state: StateSettings
    package var secrets: SecretSettings
    package var trust: TrustSettings
    package var clientAddress: ClientAddressSettings
    package var issuers: [IssuerSettings]
    package var tokens: TokenSettings
    package var upstreams: [UpstreamSettings]
    /// In the order of the file; the most specific match wins, not the first.
    package var routes: [RouteSettings]
    package var http: HTTPLimitSettings
    package var timeouts: TimeoutSettings
    package var connections: ConnectionSettings
    package var http2: HTTP2Settings
    package var memory: MemorySettings
    /// Where `data.docs` of refusals points, without a trailing slash.
    package var documentation: String
}

/// How many workers to run.
package enum WorkerCount: Sendable, Equatable {
    /// One for each processor the process may use.
    case automatic
    case exactly(Int)
}

/// Where a socket listens or connects, as the file gives it.
package enum ConfiguredAddress: Sendable, Hashable {
    /// An IP literal or, for upstreams, a name; IPv6 without brackets.
    case tcp(host: String, port: UInt16)
    /// An absolute path.
    case unix(path: String)
}

/// The admin listener.
package struct AdminSettings: Sendable, Equatable {
    package var address: ConfiguredAddress
    /// Present exactly when the address is TCP.
    package var tls: TLSSettings?
}

/// The listener of metrics and probes.
package struct MetricsSettings: Sendable, Equatable {
    package var address: ConfiguredAddress
}

/// Where log lines go.
package struct LogSettings: Sendable, Equatable {
    package var access: LogTarget
    package var level: LogLevel
}

/// Where access-log lines are written.
package enum LogTarget: Sendable, Equatable {
    case standardOutput
    case file(path: String)
    case off
}

/// The least severe line that is written.
package enum LogLevel: String, Sendable, CaseIterable {
    case info, warning, error
}

/// Whom to believe about the client's address.
package struct ClientAddressSettings: Sendable, Equatable {
    package var trustedProxies: [AddressRange]
}

/// The secrets that key hashes and seal blobs; nil means "made once under `state/keys/`".
package struct SecretSettings: Sendable {
    package var pepper: ConfiguredSecret?
    package var seal: ConfiguredSecret?
}

/// Limits of one HTTP message head and body.
package struct HTTPLimitSettings: Sendable, Equatable {
    /// The longest request line or field line.
    package var line: ByteCount
    /// How many fields a head may have.
    package var fields: Int
    /// The most bytes of a whole head.
    package var head: ByteCount
    /// The most bytes of a body, unless a route says otherwise.
    package var body: ByteCount
}

/// Deadlines of the downstream side.
package struct TimeoutSettings: Sendable, Equatable {
    package var handshake: Duration
    /// From the first byte of a head (or the opening of a connection) to its end.
    package var header: Duration
    /// The longest silence while a body is received or an answer is written.
    package var idle: Duration
    /// How long a connection may wait for its next request.
    package var keepAlive: Duration
    /// The bytes a second that buy a client another second, see `patience`.
    package var leastRate: ByteCount
    /// How long altogether a client may be slower than `leastRate`.
    package var patience: Duration
    /// How long exchanges may go on after TERM.
    package var drain: Duration
}

/// Caps on connections.
package struct ConnectionSettings: Sendable, Equatable {
    /// Open downstream connections of one worker.
    package var perWorker: Int
    /// Open downstream connections of one client address on one worker.
    package var perClient: Int
    /// Requests of one client address under way at once in one worker.
    package var requestsPerClient: Int
    /// New connections of one client address to one worker.
    package var rate: FloodBudget
    /// Full TLS handshakes of one client address with one worker.
    package var handshakes: FloodBudget
    /// Connections of one client address that were cut for a flood, before it gets no new ones for a while.
    package var floods: FloodBudget
    /// How long busy connections and handshakes may take of a turn of a worker's loop.
    package var busyShare: Duration
    /// Requests after which a keep-alive connection is closed.
    package var requests: Int
}

/// How much memory a worker may use.
package struct MemorySettings: Sendable, Equatable {
    /// Nil: half of what there is, shared by the workers.
    package var perWorker: ByteCount?
}
