// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Telemetry

/// The metrics of all processes as control reads them.
struct ControlSlots {
    let own: MetricsSlot
    private let supervisor: MetricsSlot
    private let workers: [MetricsSlot]

    init(_ paths: StatePaths, workers count: Int) throws(TelemetryError) {
        self.own = try MetricsSlot(path: paths.control)
        self.supervisor = try MetricsSlot(path: paths.supervisor)
        var workers: [MetricsSlot] = []
        for index in 0..<count { workers.append(try MetricsSlot(path: paths.worker(index))) }
        self.workers = workers
    }

    /// Everything summed, as Prometheus text.
    func exposition() -> String {
        var exposition = Exposition(metrics: GatewayMetrics.all)
        for slot in [own, supervisor] + workers { exposition.add(slot) }
        return exposition.text()
    }

    /// How many workers accept connections.
    func workersServing() -> Int {
        supervisor.sum(of: GatewayMetrics.workersServing)
    }

    /// How many children cannot start.
    func childrenUnable() -> Int {
        supervisor.sum(of: GatewayMetrics.childrenUnable)
    }

    /// How many workers have a Redis connection.
    func workersWithRedis() -> Int {
        workers.reduce(0) { $0 + $1.sum(of: GatewayMetrics.redisUp) }
    }

    /// How many workers can judge requests.
    func workersJudging() -> Int {
        workers.reduce(0) { $0 + $1.sum(of: GatewayMetrics.workersJudging) }
    }

    /// Open client connections by worker.
    func connections() -> [Int] {
        workers.map { $0.sum(of: GatewayMetrics.openConnections) }
    }
}

/// What control itself counts.
struct ControlMetrics {
    private let slot: MetricsSlot
    private let successful: Gauge
    private let timestamp: Gauge

    init(_ slot: MetricsSlot) {
        self.slot = slot
        self.successful = slot.gauge(GatewayMetrics.configSuccessful)
        self.timestamp = slot.gauge(GatewayMetrics.configTimestamp)
    }

    /// A configuration is in force.
    func took(_ configuration: Configuration, at milliseconds: Int64) {
        successful.set(1)
        timestamp.set(Int(milliseconds / 1000))
        for end in CertificateWatch.ends(configuration) {
            let label = "file=\"\(Metric.escapedLabel(end.path))\""
            slot.gauge(GatewayMetrics.certificateNotAfter, label).set(Int(end.seconds))
        }
    }

    /// The old set was kept.
    func refused() {
        successful.set(0)
    }
}
