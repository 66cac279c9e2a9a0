// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What we announce to an HTTP/2 peer, and how much we let it do.
package struct HTTP2Settings: Sendable, Equatable {
    /// The streams a client may have open at once (RFC 9113 6.5.2 recommends 100 at least).
    package var concurrentStreams = 100
    /// The bytes a peer may send on one stream before we credit some.
    package var streamWindow = 256 * 1024
    /// The bytes a peer may send on all streams together before we credit some: bounds what a connection can buffer.
    package var connectionWindow = 1024 * 1024
    /// The CONTINUATION frames of one header block; honest blocks need none or one.
    package var continuations = 8
    /// The nanoseconds an answered stream may go on with a body that nobody reads.
    package var linger: UInt64 = 2_000_000_000
    /// The bytes of such a body that are taken and thrown away.
    package var drain = 128 * 1024 * 1024
    /// The nanoseconds of a peer's silence, streams being open, after which the owner asks for a sign of life.
    package var ping: UInt64 = 30_000_000_000
    /// Limits of one header block.
    package var heads = ParserLimits()
    /// What the peer may cause before it is cut off.
    package var budgets = HTTP2Budgets()

    /// The settings used unless configuration says otherwise.
    package init() {}

    /// What we announce to an upstream and let it do.
    ///
    /// An upstream is trusted not to flood, and honest ones do much: gRPC servers reset every stream they answer early
    /// and measure the path with pings and settings.
    package static let upstream: HTTP2Settings = {
        var settings = HTTP2Settings()
        settings.budgets = .upstream
        return settings
    }()
}
