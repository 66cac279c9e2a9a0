// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import HTTP
package import Transport

/// One thing the gateway does against clients that take too much; the raw value is the word of its metric and log line.
package enum Defence: String, Sendable, CaseIterable {
    // Before a byte is read.
    case connectionRate = "connection_rate"
    case handshakeRate = "handshake_rate"
    case connectionsPerWorker = "connections_per_worker"
    case connectionsPerClient = "connections_per_client"
    case floodsPerClient = "floods_per_client"
    case memoryConnection = "memory_connection"
    case proxyUnlisted = "proxy_unlisted"
    case proxyMissing = "proxy_missing"
    case proxyMalformed = "proxy_malformed"
    case proxyTooLong = "proxy_too_long"
    case proxyTooSlow = "proxy_too_slow"
    // Clients that are slow.
    case slowHandshake = "slow_handshake"
    case silentConnection = "silent_connection"
    case slowHead = "slow_head"
    case slowBody = "slow_body"
    case slowReader = "slow_reader"
    // Connections that take much of a worker's time wait behind all others.
    case busyConnection = "busy_connection"
    // Memory runs short.
    case memoryIdle = "memory_idle"
    case memoryRequest = "memory_request"
    // One client has enough under way.
    case requestsPerClient = "requests_per_client"
    // Floods of HTTP/2 frames, and what is no HTTP/2.
    case http2Protocol = "http2_protocol"
    case http2Resets = "http2_resets"
    case http2ProvokedResets = "http2_provoked_resets"
    case http2Settings = "http2_settings"
    case http2Pings = "http2_pings"
    case http2WindowUpdates = "http2_window_updates"
    case http2TinyWindows = "http2_tiny_windows"
    case http2EmptyFrames = "http2_empty_frames"
    case http2OtherFrames = "http2_other_frames"
    case http2Continuations = "http2_continuations"
    case http2LargeHeaders = "http2_large_headers"

    /// The defence against a flood of HTTP/2 frames.
    package init(_ flood: HTTP2Flood) {
        self =
            switch flood {
            case .resets: .http2Resets
            case .provokedResets: .http2ProvokedResets
            case .settings: .http2Settings
            case .pings: .http2Pings
            case .windowUpdates: .http2WindowUpdates
            case .tinyWindows: .http2TinyWindows
            case .emptyFrames: .http2EmptyFrames
            case .otherFrames: .http2OtherFrames
            case .continuations: .http2Continuations
            case .largeHeaders: .http2LargeHeaders
            }
    }

    /// The defence that a bad PROXY header met; nil where the peer just went away.
    package init?(_ failure: ProxyFailure) {
        switch failure {
        case .missing: self = .proxyMissing
        case .malformed: self = .proxyMalformed
        case .tooLong: self = .proxyTooLong
        case .tooSlow: self = .proxyTooSlow
        case .closedEarly: return nil
        }
    }
}
