// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP

/// How gRPC callers learn that an answer under way has failed: by trailers, as they learn everything else.
enum GRPCEnding {
    /// The gRPC status of a failure, resets as the protocol's table maps them.
    static func status(of failure: UpstreamFailure) -> Int {
        switch failure {
        case .firstByteTimedOut, .idleTimedOut, .totalTimedOut, .connectTimedOut: 4
        case .streamReset(.refusedStream): 14
        case .streamReset(.cancel): 1
        case .streamReset(.enhanceYourCalm): 8
        case .streamReset, .invalidResponse, .upgradeFailed: 13
        case .nameNotResolved, .poolExhausted, .connectRefused, .connectFailed, .certificate, .closedEarly,
            .protocolRefused:
            14
        }
    }

    /// The trailers that end the answer.
    static func trailers(for failure: UpstreamFailure) -> FieldTable {
        trailers(status: status(of: failure), "upstream: \(failure.reason)")
    }

    /// The trailers that end an answer before its time: UNAUTHENTICATED where the credential
    /// has ended, else UNAVAILABLE.
    static func trailers(for ending: StreamEnding) -> FieldTable {
        switch ending {
        case .revoked, .expired: trailers(status: 16, ending.rawValue)
        case .goingAway: trailers(status: 14, ending.rawValue)
        }
    }

    /// The trailers that end the answer to a call that broke a rule on its way.
    static func trailers(for refusal: Refusal) -> FieldTable {
        trailers(status: GRPCAnswer.status(of: refusal.code), refusal.code.rawValue)
    }

    private static func trailers(status: Int, _ words: String) -> FieldTable {
        var trailers = FieldTable()
        trailers.append(name: "grpc-status".utf8.span, value: "\(status)".utf8.span)
        let message = GRPCAnswer.percentEncoded(words)
        trailers.append(name: "grpc-message".utf8.span, value: message.utf8.span)
        return trailers
    }
}

extension RequestHead {
    /// Whether the request is a gRPC call.
    var isGRPC: Bool {
        guard let type = fields.first(.contentType) else { return false }
        return type.starts("application/grpc")
    }

    /// What `grpc-timeout` allows a call: at most eight digits and a unit (gRPC over HTTP/2, "Requests").
    var grpcTimeout: Duration? {
        guard isGRPC, let value = fields.first(.grpcTimeout), value.count > 1, value.count < 10 else { return nil }
        var number: Int64 = 0
        for index in 0..<value.count - 1 {
            guard value[index].isASCIIDigit else { return nil }
            number = number * 10 + Int64(value[index] - 0x30)
        }
        switch value[value.count - 1] {
        case UInt8(ascii: "H"): return .seconds(number * 3600)
        case UInt8(ascii: "M"): return .seconds(number * 60)
        case UInt8(ascii: "S"): return .seconds(number)
        case UInt8(ascii: "m"): return .milliseconds(number)
        case UInt8(ascii: "u"): return .microseconds(number)
        case UInt8(ascii: "n"): return .nanoseconds(number)
        default: return nil
        }
    }
}

extension ResponseHead {
    /// Whether the answer is one to a gRPC call and ends with trailers.
    var endsWithGRPCTrailers: Bool {
        guard framing == .chunked, let type = fields.first(.contentType) else { return false }
        return type.starts("application/grpc")
    }
}
