// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Telemetry

/// What the supervisor counts.
final class SupervisorMetrics {
    private let slot: MetricsSlot
    let workersServing: Gauge
    let childrenUnable: Gauge

    init(_ slot: MetricsSlot) {
        self.slot = slot
        self.workersServing = slot.gauge(GatewayMetrics.workersServing)
        self.childrenUnable = slot.gauge(GatewayMetrics.childrenUnable)
        for role in [ChildRole.worker(0), .control, .redis] {
            _ = restarts(of: role)
            _ = hangs(of: role)
        }
    }

    func restarts(of role: ChildRole) -> Counter {
        slot.counter(GatewayMetrics.restarts, "role=\"\(role.label)\"")
    }

    func hangs(of role: ChildRole) -> Counter {
        slot.counter(GatewayMetrics.hangs, "role=\"\(role.label)\"")
    }
}

/// The metrics slots of all processes, made by the supervisor and given to the account that children run as.
struct Slots {
    let supervisor: MetricsSlot
    let control: MetricsSlot
    let workers: [MetricsSlot]

    init(_ paths: StatePaths, workers count: Int, owner: Account?) throws(TelemetryError) {
        self.supervisor = try Self.open(paths.supervisor, owner)
        self.control = try Self.open(paths.control, owner)
        var workers: [MetricsSlot] = []
        for index in 0..<count { workers.append(try Self.open(paths.worker(index), owner)) }
        self.workers = workers
        for slot in [supervisor, control] + workers { slot.zeroGauges() }
    }

    private static func open(_ path: String, _ owner: Account?) throws(TelemetryError) -> MetricsSlot {
        let slot = try MetricsSlot(path: path)
        if let owner, unsafe chown(path, owner.user, owner.group) != 0 {
            throw TelemetryError(doing: "give \(path) to \(owner.name)", errno: errno)
        }
        return slot
    }
}
