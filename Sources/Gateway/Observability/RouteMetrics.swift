// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Telemetry
import Transport

/// The counters of one route, found once in the life of a worker, so that a request adds to an array element.
///
/// Held by the snapshot; written on the loop.
package final class RouteMetrics {
    private let requests: [Counter]
    /// Client-side times of this route.
    package let duration: Histogram
    /// Upstream-side times of this route.
    package let upstreamDuration: Histogram

    /// The counters of the route named `route` in `slot`; `_none` stands for requests that no route matched, `_local`
    /// for those to the gateway's own endpoints.
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

/// The counters of all routes that a worker ever had: to find those of one route takes some 30 microseconds.
///
/// Isolated to the Reactor; owned by the worker.
@Reactor
final class RouteMetricsTable {
    private let slot: MetricsSlot
    private var known: [String: RouteMetrics] = [:]

    /// So many are found in a fifth of a millisecond or two.
    private static let perTurn = 8

    init(slot: MetricsSlot) {
        self.slot = slot
    }

    /// The counters of the route of this name.
    subscript(route: String) -> RouteMetrics {
        if let metrics = known[route] { return metrics }
        let metrics = RouteMetrics(route: route, slot: slot)
        known[route] = metrics
        return metrics
    }

    /// Finds those of new routes, a few a turn of the loop.
    func prepare(_ routes: [String], on loop: EventLoop) async {
        for (index, route) in routes.filter({ known[$0] == nil }).enumerated() {
            _ = self[route]
            if index % Self.perTurn == Self.perTurn - 1 { await loop.nextTurn() }
        }
    }
}
