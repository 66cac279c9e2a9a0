// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why a request may not pass: a value that the route's dialect renders in one place.
///
/// Codes are those of dialects.md E.1 and A.8; sentences are for people and may change.
package struct Refusal: Sendable, Equatable {
    package var code: RefusalCode
    /// `data.missing` of dialect A.
    package var missing: Missing?
    /// A stable word for programs below the code, such as `malformed_key`.
    package var reason: String?
    /// The app the request spoke for, as far as it is known.
    package var appID: AppID?
    /// Commands or acts that mend it, most useful first.
    package var nextSteps: [String]
    /// Whole seconds after which the same call may succeed.
    package var retryAfter: Int?
    /// What `Proxy-Status` says of a failed upstream: an error type of RFC 9209 2.3, with
    /// parameters where there are any.
    package var proxyError: String?
    /// Further facts for `data`, such as `trust` and `required`.
    package var details: [(name: String, value: String)]
    /// What people are told instead of the code's own sentence.
    package var sentence: String?

    package init(
        _ code: RefusalCode,
        missing: Missing? = nil,
        reason: String? = nil,
        appID: AppID? = nil,
        nextSteps: [String] = [],
        retryAfter: Int? = nil,
        details: [(name: String, value: String)] = []
    ) {
        self.code = code
        self.missing = missing
        self.reason = reason
        self.appID = appID
        self.nextSteps = nextSteps
        self.retryAfter = retryAfter
        self.details = details
    }

    package static func == (left: Refusal, right: Refusal) -> Bool {
        left.code == right.code && left.missing == right.missing && left.reason == right.reason
    }
}

/// What a refused request lacked (OFF-012).
package enum Missing: String, Sendable {
    case nativeRegistration = "native_registration"
    case attestation, credential
    case developmentMode = "development_mode"
}

/// The neutral codes; a dialect may spell some differently.
package enum RefusalCode: String, Sendable, CaseIterable {
    case appCredentialsRequired = "app_credentials_required"
    case appTokenInvalid = "app_token_invalid"
    case invalidRunToken = "invalid_run_token"
    case invalidApp = "invalid_app"
    case appRevoked = "app_revoked"
    case missingOrganization = "missing_orgid"
    case organizationNotAllowed = "organization_not_allowed"
    case originNotAllowed = "origin_not_allowed"
    case clientNotAllowed = "client_not_allowed"
    case trustTooLow = "trust_too_low"
    case personTokenRequired = "person_token_required"
    case personTokenInvalid = "person_token_invalid"
    case ambiguousCredentials = "ambiguous_credentials"
    case rateLimited = "rate_limited"
    case tooManyFailures = "too_many_failures"
    case stateUnavailable = "state_unavailable"
    case routeNotFound = "route_not_found"
    case misdirectedRequest = "misdirected_request"
    case badRequest = "bad_request"
    case methodNotAllowed = "method_not_allowed"
    case unsupportedMediaType = "unsupported_media_type"
    case payloadTooLarge = "payload_too_large"
    case attestationRequired = "attestation_required"
    case attestationFailed = "attestation_failed"
    case attestationKeyUnknown = "attestation_key_unknown"
    case attestationNotConfigured = "attestation_not_configured"
    case developmentModeRequired = "development_mode_required"
    case codeRequestsLimited = "code_requests_limited"
    case developmentSignInsLimited = "development_sign_ins_limited"
    case degradedSignInsLimited = "degraded_sign_ins_limited"
    case upstreamUnreachable = "upstream_unreachable"
    case upstreamTimeout = "upstream_timeout"
    case upstreamInvalid = "upstream_invalid"
    case loopDetected = "loop_detected"

    /// The HTTP status (dialects.md E.1).
    package var status: Int {
        switch self {
        case .appCredentialsRequired, .appTokenInvalid, .invalidRunToken, .invalidApp, .appRevoked,
            .personTokenRequired, .personTokenInvalid:
            401
        case .missingOrganization, .ambiguousCredentials, .badRequest: 400
        case .organizationNotAllowed, .originNotAllowed, .clientNotAllowed, .trustTooLow, .attestationRequired,
            .attestationFailed, .attestationKeyUnknown, .attestationNotConfigured, .developmentModeRequired:
            403
        case .routeNotFound: 404
        case .methodNotAllowed: 405
        case .payloadTooLarge: 413
        case .unsupportedMediaType: 415
        case .misdirectedRequest: 421
        case .rateLimited, .tooManyFailures, .codeRequestsLimited, .developmentSignInsLimited,
            .degradedSignInsLimited:
            429
        case .upstreamUnreachable, .upstreamInvalid: 502
        case .stateUnavailable: 503
        case .upstreamTimeout: 504
        case .loopDetected: 508
        }
    }
}
