// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Telemetry

/// Everything a worker is given at start: it opens nothing by itself but connections to upstreams and to Redis.
package struct WorkerEnvironment {
    /// 0 for the first worker.
    package var index: Int
    /// The listening sockets of each configured listener, in the order of the configuration.
    package var listeners: [ListenerSockets]
    /// The metrics of this worker, in the shared mapping.
    package var metrics: MetricsSlot
    package var accessLog: AccessLog
    package var log: Log
    /// Who we are in `Via`.
    package var pseudonym: ViaPseudonym
    /// Tells the supervisor: called once, when the worker accepts connections.
    package var serving: () -> Void
    /// Tells the supervisor that the worker cannot judge and accepts nothing yet: called at
    /// most once, before `serving`.
    package var waiting: () -> Void

    package init(
        index: Int,
        listeners: [ListenerSockets],
        metrics: MetricsSlot,
        accessLog: AccessLog,
        log: Log,
        pseudonym: ViaPseudonym,
        serving: @escaping () -> Void,
        waiting: @escaping () -> Void
    ) {
        self.index = index
        self.listeners = listeners
        self.metrics = metrics
        self.accessLog = accessLog
        self.log = log
        self.pseudonym = pseudonym
        self.serving = serving
        self.waiting = waiting
    }
}

/// The sockets of one configured listener: one for each worker, all inherited by every worker.
package struct ListenerSockets: Sendable, Equatable {
    /// As the configuration names it, such as `0.0.0.0:8443`.
    package var address: String
    /// The listening socket of each worker, by worker index; non-blocking, close-on-exec.
    package var descriptors: [CInt]

    package init(address: String, descriptors: [CInt]) {
        self.address = address
        self.descriptors = descriptors
    }

    /// The socket that the worker accepts from; the others only while it stands in for a worker that is away.
    package func own(_ worker: Int) -> CInt {
        descriptors[worker]
    }
}
