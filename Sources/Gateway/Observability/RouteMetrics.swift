// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Telemetry

/// The counters of one route, found once when a snapshot is made, so that a request adds to an array element.
///
/// Owned by the snapshot; written on the loop.
package final class RouteMetrics {
    private let requests: [Counter]
    /// Client-side times of this route.
    package let duration: Histogram
    /// Upstream-side times of this route.
    package let upstreamDuration: Histogram

    /// The counters of the route named `route` in `slot`; `_none` stands for requests that no route matched, `_local` for
    /// those to the gateway's own endpoints.
    package init(route: String, slot: MetricsSlot) {
        let label = "route=\"\(Metric.escapedLabel(route))\""
        var requests: [Counter] = []
        for outcome in Outcome.allCases {
            for code in 1...5 {
                let labels = "\(label),outcome=\"\(outcome.word)\",code=\"\(code)xx\""
                requests.append(slot.counter(GatewayMetrics.requests, labels))
            }
        }
        self.requests = requests
        self.duration = slot.histogram(GatewayMetrics.requestDuration, label)
        self.upstreamDuration = slot.histogram(GatewayMetrics.upstreamDuration, label)
    }

    /// Counts one request: a client that left before its answer as 499, a status outside 100 to 599 as 5xx.
    @inline(__always)
    package func count(_ outcome: Outcome, status: Int) {
        let code = status >= 100 && status < 600 ? status / 100 : 5
        requests[outcome.rawValue &* 5 &+ code &- 1].increment()
    }
}
