// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials

/// The code for programs and the sentence for people.
struct RefusalWords: Equatable {
    var code: String
    var sentence: String

    /// The words that all dialects share unless they say otherwise.
    init(neutral refusal: Refusal) {
        self.init(code: refusal.code.rawValue, sentence: refusal.sentence ?? Self.sentence(refusal))
    }

    init(code: String, sentence: String) {
        self.code = code
        self.sentence = sentence
    }

    /// The words with what mends the refusal behind the sentence, for shapes that have no place of their own for it.
    func mended(by refusal: Refusal) -> RefusalWords {
        guard let step = refusal.nextSteps.first else { return self }
        let isCommand = step.hasPrefix("sallyport ")
        return RefusalWords(code: code, sentence: isCommand ? "\(sentence) To mend it: \(step)" : "\(sentence) \(step)")
    }

    /// The reason where it says more than code and `missing` do.
    func reason(of refusal: Refusal) -> String? {
        refusal.reason == "missing_authorization" || refusal.reason == "expired" ? nil : refusal.reason
    }

    private static func sentence(_ refusal: Refusal) -> String {
        switch refusal.code {
        case .appCredentialsRequired: missing(refusal.missing)
        case .appTokenInvalid: "The app token is not valid."
        case .invalidRunToken: "The run token is not valid for this call."
        case .invalidApp: "No such application."
        case .appRevoked: "This app is revoked."
        case .missingOrganization: "The orgid header is required."
        case .organizationNotAllowed: "This route is not for the application's organization."
        case .originNotAllowed: "This origin is not allowed for the application."
        case .clientNotAllowed: "This client address is not allowed on this route."
        case .trustTooLow: "This route needs more trust than the sign-in gave."
        case .personTokenRequired: "This route needs a signed-in person."
        case .personTokenInvalid: "The person's token is not valid."
        case .ambiguousCredentials: "A field that names the caller came more than once."
        case .rateLimited: "Too many requests."
        case .tooManyFailures: "Too many failed checks from this address."
        case .stateUnavailable: "The request cannot be judged at the moment."
        case .routeNotFound: "No route takes this request."
        case .misdirectedRequest: "This host is not served on this connection."
        case .badRequest: "The request is malformed."
        case .methodNotAllowed: "This endpoint does not take that method."
        case .payloadTooLarge: "The body is too large."
        case .unsupportedMediaType: "The body is not of a type that is taken here."
        case .attestationRequired: "This operation needs a verified attestation."
        case .attestationFailed: "The attestation did not verify."
        case .attestationKeyUnknown: "This install's key is not registered."
        case .attestationNotConfigured: "No native app is registered to check this attestation against."
        case .developmentModeRequired: "This device cannot attest, and development mode is off."
        case .codeRequestsLimited: "Too many codes without an attestation this hour."
        case .developmentSignInsLimited: "Too many development sign-ins this hour."
        case .degradedSignInsLimited: "Too many sign-ins from devices without full attestation this hour."
        case .upstreamUnreachable: "The service behind the gateway cannot be reached."
        case .upstreamTimeout: "The service behind the gateway did not answer in time."
        case .upstreamInvalid: "The service behind the gateway gave an invalid answer."
        case .loopDetected: "The request has come through this gateway before: it goes in a circle."
        }
    }

    private static func missing(_ missing: Missing?) -> String {
        switch missing {
        case .nativeRegistration: "No native app is registered for this application."
        case .attestation: "This request carries no attestation."
        case .developmentMode: "Development mode has ended, and this session with it."
        case .credential: "This request carries no allowed origin, attested token or API key."
        case nil: "This request needs a credential for the application."
        }
    }
}
