// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials

/// The one place where a refusal becomes an answer.
package enum DialectTable {
    /// Renders in the route's dialect, or as the caller asked: trailers for gRPC, RFC 9457 where `Accept` names it.
    package static func render(_ refusal: Refusal, dialect: Dialect, request: RefusalRequest) -> RenderedRefusal {
        var refusal = refusal
        if refusal.nextSteps.isEmpty { refusal.nextSteps = NextSteps.usual(for: refusal, in: dialect) }
        let words = words(for: refusal, dialect: dialect)
        if request.isGRPC { return GRPCAnswer.render(refusal, words, request) }
        let body =
            request.wantsProblemDocument
            ? ProblemDocument.body(refusal, words, request) : body(refusal, words, request, dialect)
        let type = request.wantsProblemDocument ? "application/problem+json" : "application/json"
        return RenderedRefusal(
            status: refusal.code.status,
            fields: [HeaderField(name: "content-type", value: type)] + commonFields(refusal, request),
            body: body
        )
    }

    /// The code and the sentence that a refusal has in a dialect.
    static func words(for refusal: Refusal, dialect: Dialect) -> RefusalWords {
        switch dialect {
        case .offlineid: OfflineAnswers.words(for: refusal)
        case .vouch: VouchAnswers.words(for: refusal)
        case .appengine: AppEngineAnswers.words(for: refusal)
        }
    }

    private static func body(
        _ refusal: Refusal,
        _ words: RefusalWords,
        _ request: RefusalRequest,
        _ dialect: Dialect
    ) -> [UInt8] {
        switch dialect {
        case .offlineid: OfflineAnswers.body(refusal, words, request)
        case .vouch: VouchAnswers.body(words)
        case .appengine: AppEngineAnswers.body(refusal, words, request)
        }
    }

    /// The fields of every answer the gateway itself makes (E.1).
    static func commonFields(_ refusal: Refusal, _ request: RefusalRequest) -> [HeaderField] {
        var fields = [
            HeaderField(name: "cache-control", value: "no-store"),
            HeaderField(name: "sallyport-decision", value: request.decision),
        ]
        if refusal.code.status == 401 {
            fields.append(HeaderField(name: "www-authenticate", value: challenge(for: refusal.code)))
        }
        if let seconds = refusal.retryAfter {
            fields.append(HeaderField(name: "retry-after", value: String(seconds)))
        }
        if let error = proxyError(of: refusal) {
            fields.append(HeaderField(name: "proxy-status", value: "sallyport; error=\(error)"))
        }
        return fields
    }

    /// RFC 6750 3: `error` only when a token was sent and is no good.
    private static func challenge(for code: RefusalCode) -> String {
        switch code {
        case .appTokenInvalid, .invalidRunToken, .personTokenInvalid:
            "Bearer realm=\"sallyport\", error=\"invalid_token\""
        default: "Bearer realm=\"sallyport\""
        }
    }

    /// The error type of RFC 9209 2.3 in `Proxy-Status`.
    private static func proxyError(of refusal: Refusal) -> String? {
        switch refusal.code {
        case .upstreamUnreachable: refusal.proxyError ?? "destination_unavailable"
        case .upstreamTimeout: refusal.proxyError ?? "http_response_timeout"
        case .upstreamInvalid: refusal.proxyError ?? "http_protocol_error"
        case .stateUnavailable: refusal.proxyError ?? "proxy_internal_error"
        case .loopDetected: "proxy_loop_detected"
        case .appCredentialsRequired, .appTokenInvalid, .invalidRunToken, .invalidApp, .appRevoked,
            .missingOrganization, .organizationNotAllowed, .originNotAllowed, .clientNotAllowed,
            .trustTooLow, .personTokenRequired, .personTokenInvalid, .ambiguousCredentials, .rateLimited,
            .tooManyFailures, .routeNotFound, .misdirectedRequest, .badRequest, .methodNotAllowed,
            .payloadTooLarge,
            .unsupportedMediaType, .attestationRequired, .attestationFailed, .attestationKeyUnknown,
            .attestationNotConfigured, .developmentModeRequired, .codeRequestsLimited, .developmentSignInsLimited,
            .degradedSignInsLimited:
            nil
        }
    }
}
