// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

/// How often a request is tried.
enum UpstreamRetry {
    /// Connections tried before the client hears of it; nothing was sent on any of them.
    static let connectAttempts = 3
    /// A request that was sent is sent at most once more (B57, B58), unless the upstream says it did nothing about it.
    static let requestAttempts = 1

    /// Why a request that failed could be sent again.
    enum Ground {
        case never
        /// The connection was closed silently, as idle ones are: what changes nothing more may be sent again.
        case ifSafe
        /// The upstream says that it did nothing about the request (RFC 9113 8.7).
        case notProcessed
    }

    /// Whether the request may be sent twice: the second time changes nothing (RFC 9110 9.2.2), and all of it
    /// that was sent is still here.
    @Reactor
    static func isSafe(_ exchange: Exchange) -> Bool {
        isIdempotent(exchange.request.method) && (!exchange.request.framing.hasBody || exchange.replay.isWhole)
    }

    /// Whether a second request of the method changes nothing more than the first.
    static func isIdempotent(_ method: Method) -> Bool {
        switch method {
        case .get, .head, .options, .put, .delete: true
        case .post, .patch, .trace, .connect, .other: false
        }
    }
}
