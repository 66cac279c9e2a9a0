// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import HTTP
package import Telemetry

/// The metrics of client connections that depend on their protocol.
///
/// Owned by the worker's metrics; written on the loop.
package final class ConnectionMetrics {
    /// Streams of HTTP/2 clients that are open.
    package let http2Streams: Gauge
    private let slot: MetricsSlot
    private let requests10: Counter
    private let requests11: Counter
    private let requests2: Counter
    private var resets: [UInt32: Counter] = [:]

    init(slot: MetricsSlot) {
        self.slot = slot
        http2Streams = slot.gauge(GatewayMetrics.http2Streams)
        requests10 = slot.counter(GatewayMetrics.protocolRequests, "protocol=\"HTTP/1.0\"")
        requests11 = slot.counter(GatewayMetrics.protocolRequests, "protocol=\"HTTP/1.1\"")
        requests2 = slot.counter(GatewayMetrics.protocolRequests, "protocol=\"HTTP/2\"")
    }

    /// Counts a request by the protocol it came in.
    @inline(__always)
    package func countRequest(_ version: HTTPVersion) {
        switch version {
        case .http10: requests10.increment()
        case .http11: requests11.increment()
        case .http2: requests2.increment()
        }
    }

    /// Counts a stream that was reset.
    package func countReset(_ code: HTTP2ErrorCode) {
        // A peer may send any number; those that are not registered share a label.
        let key = code.name == nil ? .max : code.rawValue
        if resets[key] == nil {
            resets[key] = slot.counter(GatewayMetrics.http2Resets, "cause=\"\(code.name ?? "_other")\"")
        }
        resets[key]?.increment()
    }
}
