// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Telemetry

/// What a supervisor has to hold and to start, taken from the configuration once at start.
package struct SupervisorPlan: Sendable {
    /// One address to listen on.
    package struct Address: Sendable, Equatable {
        package var host: String
        package var port: UInt16

        package init(host: String, port: UInt16) {
            self.host = host
            self.port = port
        }

        /// `0.0.0.0:8443` or `[::]:8443`.
        package var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    }

    package var configuration: String
    package var workers: Int
    package var listeners: [Address]
    package var adminSocket: String
    /// Where the admin API listens beside its socket; nil: nowhere.
    package var adminAddress: Address?
    package var metrics: Address?
    package var stateDirectory: String
    package var account: Account?
    package var drain: Duration
    /// Whether the supervisor runs a private Redis.
    package var redis: Bool
    package var log: Log

    package init(
        configuration: String,
        workers: Int,
        listeners: [Address],
        adminSocket: String,
        adminAddress: Address? = nil,
        metrics: Address?,
        stateDirectory: String,
        account: Account?,
        drain: Duration,
        redis: Bool,
        log: Log
    ) {
        self.configuration = configuration
        self.workers = workers
        self.listeners = listeners
        self.adminSocket = adminSocket
        self.adminAddress = adminAddress
        self.metrics = metrics
        self.stateDirectory = stateDirectory
        self.account = account
        self.drain = drain
        self.redis = redis
        self.log = log
    }
}
