// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings

/// A refusal as gRPC callers read it: 200 with trailers only, so the fields are the whole answer.
enum GRPCAnswer {
    static func render(_ refusal: Refusal, _ words: RefusalWords, _ request: RefusalRequest) -> RenderedRefusal {
        var message = "\(words.code): \(words.sentence)"
        if let step = refusal.nextSteps.first { message += " \(step)" }
        return RenderedRefusal(
            status: 200,
            fields: [
                HeaderField(name: "content-type", value: "application/grpc"),
                HeaderField(name: "grpc-status", value: String(status(of: refusal.code))),
                HeaderField(name: "grpc-message", value: percentEncoded(message)),
            ] + DialectTable.commonFields(refusal, request),
            body: []
        )
    }

    /// The gRPC status codes.
    static func status(of code: RefusalCode) -> Int {
        switch code {
        case .missingOrganization, .ambiguousCredentials, .badRequest, .misdirectedRequest, .unsupportedMediaType: 3
        case .upstreamTimeout: 4
        case .organizationNotAllowed, .originNotAllowed, .clientNotAllowed, .trustTooLow, .attestationRequired,
            .attestationFailed, .attestationKeyUnknown, .attestationNotConfigured, .developmentModeRequired:
            7
        case .rateLimited, .tooManyFailures, .payloadTooLarge, .codeRequestsLimited, .developmentSignInsLimited,
            .degradedSignInsLimited:
            8
        case .routeNotFound, .methodNotAllowed: 12
        case .loopDetected: 13
        case .stateUnavailable, .upstreamUnreachable, .upstreamInvalid: 14
        case .appCredentialsRequired, .appTokenInvalid, .invalidRunToken, .invalidApp, .appRevoked,
            .personTokenRequired, .personTokenInvalid:
            16
        }
    }

    /// Percent-encodes all but the printable ASCII bytes, and `%` (gRPC over HTTP/2, "Responses").
    static func percentEncoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if (0x20...0x7e).contains(byte), byte != UInt8(ascii: "%") {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), Hex.upperDigit(of: byte >> 4), Hex.upperDigit(of: byte & 15)]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
