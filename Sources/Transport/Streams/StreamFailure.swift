// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// Why a stream ended before its time.
package enum StreamFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// Nobody listens at the address.
    case refused
    /// No route, or the address family is not available.
    case unreachable
    /// The connection was not made in time.
    case connectDeadlinePassed
    /// The TLS handshake was not finished in time.
    case handshakeDeadlinePassed
    /// The peer broke the connection off.
    case reset
    /// The peer's bytes ended without TLS's close_notify: what was received may be cut.
    case truncated
    /// What was written was not taken in time after `closeAfterFlush()`.
    case flushDeadlinePassed
    /// TLS failed: what the peer did, or why its certificate is not accepted.
    case tls(TLSFailure)
    /// Any other failed system call.
    case system(SystemError)

    init(_ error: SystemError) {
        switch error.code {
        case ECONNREFUSED, ENOENT: self = .refused
        case ECONNRESET, EPIPE, ECONNABORTED: self = .reset
        case ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL, EAFNOSUPPORT: self = .unreachable
        case ETIMEDOUT: self = .connectDeadlinePassed
        default: self = .system(error)
        }
    }

    package var description: String {
        switch self {
        case .refused: "connection refused"
        case .unreachable: "address unreachable"
        case .connectDeadlinePassed: "connect deadline passed"
        case .handshakeDeadlinePassed: "TLS handshake deadline passed"
        case .reset: "connection reset"
        case .truncated: "ended without close_notify"
        case .flushDeadlinePassed: "flush deadline passed"
        case .tls(let failure): "TLS: \(failure)"
        case .system(let error): error.description
        }
    }
}
