// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension NextSteps {
    /// What mends a refusal that brought no steps of its own; never empty, and no code can be left out.
    package static func usual(for refusal: Refusal, in dialect: Dialect) -> [String] {
        switch refusal.code {
        case .appCredentialsRequired: credential(refusal, dialect)
        case .appTokenInvalid: [signInAgain]
        case .invalidRunToken: [attestAgain]
        case .invalidApp: [listApps]
        case .appRevoked: ["sallyport apps enable", "Or create another: an app that was revoked stays so."]
        case .missingOrganization: ["Send the organization's id as orgid."]
        case .organizationNotAllowed: [organization]
        case .originNotAllowed: [addOrigin(dialect: dialect)]
        case .clientNotAllowed: ["Put the address in clients.allow of the route, or take it out of clients.deny."]
        case .trustTooLow: [registeredBuild]
        case .personTokenRequired: ["Sign the person in, and send their token as X-Client-Authorization."]
        case .personTokenInvalid: ["Sign the person in again, and send the new token as X-Client-Authorization."]
        case .ambiguousCredentials: ["Send each field that names the app, the caller or the person once."]
        case .rateLimited: ["Wait for the seconds of Retry-After."]
        case .tooManyFailures:
            ["Wait for the seconds of Retry-After, then send a credential that is accepted."]
        case .stateUnavailable: ["Try again after the seconds of Retry-After."]
        case .routeNotFound: ["Correct host, path or method, or add a route to the configuration that takes them."]
        case .misdirectedRequest: ["Open a connection of its own for this host."]
        case .badRequest: ["Send the request as the reason says."]
        case .methodNotAllowed: ["Use a method of the Allow field."]
        case .unsupportedMediaType: [plainJSON]
        case .payloadTooLarge: ["Send a smaller body."]
        case .attestationRequired, .attestationFailed: [registeredBuild]
        case .attestationKeyUnknown: [newKey]
        case .attestationNotConfigured: registerNative
        case .developmentModeRequired: [developmentMode]
        case .codeRequestsLimited: ["Upgrade the SDK and pass attestation providers."]
        case .developmentSignInsLimited: ["Sign in from an attested build, or wait."]
        case .degradedSignInsLimited: ["Wait, or sign in from a device with full attestation."]
        case .upstreamUnreachable:
            ["Try again; if it lasts, see that the upstream runs: Proxy-Status says what failed."]
        case .upstreamTimeout: ["Try again; if it lasts, see why the upstream is slow, or raise timeouts of the route."]
        case .upstreamInvalid: ["Mend what the upstream answers: Proxy-Status says what is wrong with it."]
        case .loopDetected:
            ["Correct the upstream's endpoints, or what they forward to: the way must not lead back to this gateway."]
        }
    }

    private static func credential(_ refusal: Refusal, _ dialect: Dialect) -> [String] {
        switch refusal.missing {
        case .nativeRegistration: registerNative
        case .attestation: [attest]
        case .developmentMode: developmentEnded(isProduction: false)
        case .credential, nil: [present(in: dialect)]
        }
    }

    /// How a caller of the dialect gets a credential and shows it.
    package static func present(in dialect: Dialect) -> String {
        switch dialect {
        case .offlineid: "Send an API key as X-Api-Key, or sign in and send the token as Authorization: Bearer."
        case .vouch:
            "Get a run token from POST /v1/sdk/attest, and send it as Authorization: Bearer beside the fields of its device."
        case .appengine: "Sign the app in first."
        }
    }
}
