// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Crypto
import Telemetry

/// The gauges of trust.
struct TrustMetrics {
    /// What a fetch brought.
    enum Outcome: String {
        case good, failed
    }

    private let slot: MetricsSlot

    init(_ slot: MetricsSlot) {
        self.slot = slot
        for outcome in [Outcome.good, .failed] { _ = counter(outcome) }
    }

    /// A bundle counts now.
    func show(_ bundle: TrustBundle) {
        for root in bundle.roots {
            let label = "file=\"\(Metric.escapedLabel(root.file))\",for=\"\(root.purpose.rawValue)\""
            slot.gauge(GatewayMetrics.trustRootNotAfter, label).set(
                Int(root.anchor.certificate.validity?.notAfter ?? 0)
            )
        }
        slot.gauge(GatewayMetrics.statusListTimestamp).set(Int(bundle.statusListTime?.seconds ?? 0))
        slot.gauge(GatewayMetrics.statusListEntries).set(bundle.statusList.count)
    }

    /// The list was asked for.
    func fetched(_ outcome: Outcome) {
        counter(outcome).increment()
    }

    private func counter(_ outcome: Outcome) -> Counter {
        slot.counter(GatewayMetrics.statusListFetches, "result=\"\(outcome.rawValue)\"")
    }
}
