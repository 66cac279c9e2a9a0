// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Telemetry

/// The metrics of one upstream.
///
/// Owned by its pool; written on the loop.
package final class UpstreamMetrics {
    /// Connections that speak one protocol.
    package struct Connections {
        private let total: Counter
        private let open: Gauge

        fileprivate init(_ labels: String, _ slot: MetricsSlot) {
            total = slot.counter(GatewayMetrics.upstreamConnectionsTotal, labels)
            open = slot.gauge(GatewayMetrics.upstreamConnections, labels)
        }

        /// One more began to connect.
        package func opened() {
            total.increment()
            open.add(1)
        }

        /// One ended.
        package func closed() {
            open.add(-1)
        }
    }

    /// Connections that carry one request at a time.
    package let single: Connections
    /// Connections that carry many requests at once.
    package let streamed: Connections
    /// Requests under way on `streamed` connections.
    package let streams: Gauge
    /// Connections kept for the next request.
    package let idle: Gauge
    /// Connect failures, missing and late answers, and invalid ones.
    package let failures: Counter
    /// Endpoints left out for a while.
    package let ejections: Counter

    /// The metrics of the upstream named `upstream` in `slot`.
    package init(upstream: String, slot: MetricsSlot) {
        let label = "upstream=\"\(Metric.escapedLabel(upstream))\""
        single = Connections("\(label),protocol=\"http/1.1\"", slot)
        streamed = Connections("\(label),protocol=\"h2\"", slot)
        streams = slot.gauge(GatewayMetrics.upstreamStreams, label)
        idle = slot.gauge(GatewayMetrics.upstreamIdle, label)
        failures = slot.counter(GatewayMetrics.upstreamFailures, label)
        ejections = slot.counter(GatewayMetrics.upstreamEjections, label)
    }
}
