// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Where state is kept and what happens when it is away.
package struct StateSettings: Sendable, Equatable {
    package var redis: RedisSettings
    /// An absolute path; sockets, keys and shared counters live here.
    package var directory: String
    /// How long a worker may serve from its cache without word from Redis: the length of its lease.
    package var serveStale: Duration
    /// The longest a request waits for Redis.
    package var deadline: Duration
    /// What windows do while Redis is away.
    package var windowsOnLoss: WindowLossPolicy
}

/// Which Redis.
package enum RedisSettings: Sendable, Equatable {
    /// A private one that the supervisor runs.
    case embedded
    case server(RedisServerSettings)
}

/// A Redis that somebody else runs.
package struct RedisServerSettings: Sendable, Equatable {
    package var address: ConfiguredAddress
    package var usesTLS: Bool
    /// PEM file of the authorities to trust for it; nil: the system's.
    package var authorities: String?
    package var user: String?
    package var password: ConfiguredSecret?
    package var database: Int
}

/// What a window answers when it cannot be counted exactly.
package enum WindowLossPolicy: String, Sendable, CaseIterable {
    case estimate, admit, refuse
}
