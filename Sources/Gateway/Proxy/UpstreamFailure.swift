// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP
import Transport

/// Why a request got no answer from an upstream: the words of `Proxy-Status` (RFC 9209 2.3) and of the access log.
enum UpstreamFailure: Sendable, Equatable {
    case nameNotResolved
    case poolExhausted
    case connectTimedOut
    case connectRefused
    case connectFailed
    /// The upstream's certificate or handshake did not satisfy us; the word says how.
    case certificate(String)
    case closedEarly
    /// The upstream does not speak HTTP/2 where it is configured to.
    case protocolRefused
    /// The upstream ended the one request, in HTTP/2.
    case streamReset(HTTP2ErrorCode)
    case invalidResponse(String)
    /// A 101 that does not answer the handshake.
    case upgradeFailed
    case firstByteTimedOut
    case idleTimedOut
    case totalTimedOut

    /// The error type of RFC 9209 2.3.
    var proxyStatus: StaticString {
        switch self {
        case .nameNotResolved: "dns_error"
        case .poolExhausted: "connection_limit_reached"
        case .connectTimedOut: "connection_timeout"
        case .connectRefused: "connection_refused"
        case .connectFailed: "destination_ip_unroutable"
        case .certificate: "tls_certificate_error"
        case .closedEarly, .streamReset: "connection_terminated"
        case .protocolRefused: "tls_protocol_error"
        case .invalidResponse: "http_protocol_error"
        case .upgradeFailed: "http_upgrade_failed"
        case .firstByteTimedOut, .idleTimedOut, .totalTimedOut: "http_response_timeout"
        }
    }

    /// The value of `Proxy-Status` after `error=`; the reason is told where the type alone says too little.
    var proxyError: String {
        switch self {
        case .certificate(let word), .invalidResponse(let word):
            "\(proxyStatus); details=\"\(word.replacing("_", with: " "))\""
        case .streamReset(let code): "\(proxyStatus); details=\"stream reset: \(code.rawValue)\""
        case .nameNotResolved, .poolExhausted, .connectTimedOut, .connectRefused, .connectFailed, .closedEarly,
            .protocolRefused, .upgradeFailed, .firstByteTimedOut, .idleTimedOut, .totalTimedOut:
            "\(proxyStatus)"
        }
    }

    /// The stable word below the refusal's code.
    var reason: String {
        switch self {
        case .certificate(let word), .invalidResponse(let word): word
        case .nameNotResolved: "name_not_resolved"
        case .poolExhausted: "connection_limit_reached"
        case .connectTimedOut: "connect_timeout"
        case .connectRefused: "connection_refused"
        case .connectFailed: "connect_failed"
        case .closedEarly: "closed_early"
        case .protocolRefused: "http2_not_spoken"
        case .streamReset: "stream_reset"
        case .upgradeFailed: "upgrade_failed"
        case .firstByteTimedOut: "first_byte_timeout"
        case .idleTimedOut: "idle_timeout"
        case .totalTimedOut: "total_timeout"
        }
    }

    /// The refusal that the client gets: 504 where the peer was too slow rather than absent or wrong.
    var refusal: RefusalCode {
        switch self {
        case .invalidResponse, .upgradeFailed: .upstreamInvalid
        case .poolExhausted: .stateUnavailable
        case .connectTimedOut, .firstByteTimedOut, .idleTimedOut, .totalTimedOut: .upstreamTimeout
        case .nameNotResolved, .connectRefused, .connectFailed, .certificate, .closedEarly, .protocolRefused,
            .streamReset:
            .upstreamUnreachable
        }
    }

    /// What a stream reported.
    init(_ failure: StreamFailure?, whileConnecting: Bool) {
        switch failure {
        case .refused: self = .connectRefused
        case .unreachable: self = .connectFailed
        case .connectDeadlinePassed, .handshakeDeadlinePassed: self = .connectTimedOut
        case .tls(let failure): self = whileConnecting ? .certificate(failure.reason.rawValue) : .closedEarly
        case .reset, .truncated, .flushDeadlinePassed, nil: self = .closedEarly
        case .system: self = whileConnecting ? .connectFailed : .closedEarly
        }
    }
}

/// Why an exchange ended on the client's side before its answer was complete.
enum ClientFailure: String, Sendable {
    case closedEarly = "client_closed"
    case idleTimedOut = "client_idle"
    case headTimedOut = "client_head_timeout"
    case bodyTimedOut = "client_body_timeout"
    case writeTimedOut = "client_write_timeout"
    /// It was we who ended it: the gateway stops, and the time for draining is over.
    case drainEnded = "drain_ended"
}
