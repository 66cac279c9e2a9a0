// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials

/// What an app says about sign-ins, as far as the decision needs it.
struct SignInPolicy: Equatable, Sendable {
    let appID: AppID
    let hasAppleApp: Bool
    /// The packages that are registered.
    let packages: [String]
    let allowsDegraded: Bool
    let isDevelopmentModeOn: Bool
    let isProduction: Bool
    /// The route's `min_trust`.
    let minimumTrust: Trust?

    init(_ app: App, minimumTrust: Trust?, now: Int64) {
        self.init(
            appID: app.appID,
            hasAppleApp: !app.record.native.ios.isEmpty,
            packages: app.record.native.android.map(\.package),
            allowsDegraded: app.record.androidDegraded == .allow,
            isDevelopmentModeOn: app.isInDevelopment(now: now),
            isProduction: app.record.isProduction,
            minimumTrust: minimumTrust
        )
    }

    init(
        appID: AppID,
        hasAppleApp: Bool,
        packages: [String],
        allowsDegraded: Bool,
        isDevelopmentModeOn: Bool,
        isProduction: Bool,
        minimumTrust: Trust? = nil
    ) {
        self.appID = appID
        self.hasAppleApp = hasAppleApp
        self.packages = packages
        self.allowsDegraded = allowsDegraded
        self.isDevelopmentModeOn = isDevelopmentModeOn
        self.isProduction = isProduction
        self.minimumTrust = minimumTrust
    }

    var hasAndroidApp: Bool { !packages.isEmpty }
    var hasNativeApp: Bool { hasAppleApp || hasAndroidApp }
}

/// What becomes of a sign-in request without an API key or an allowed origin (requirements 13.1, the decision table).
///
/// Pure: what the store and the verifiers say comes in as arguments.
enum SignInDecision: Equatable, Sendable {
    /// The proof has to be judged first.
    case judge(SignInProof)
    /// It may pass; the caps are reserved first, all or none.
    case accept(SignInVerdict?, caps: [SignInCap])
    case refuse(Refusal)

    /// Decides what can be decided from the body alone.
    static func first(_ body: SignInBody, at endpoint: SignInEndpoint, _ policy: SignInPolicy) -> SignInDecision {
        switch body.attestation {
        case nil: without(body, at: endpoint, policy)
        case .unknown: .refuse(.attestationRequired(policy))
        case .ios(let challenge, let keyID, let assertion):
            policy.hasAppleApp
                ? .judge(.ios(challenge: challenge, keyID: keyID, assertion: assertion))
                : .refuse(.attestationNotConfigured(.ios, policy))
        case .android(let challenge, let chain):
            policy.hasAndroidApp
                ? .judge(.android(challenge: challenge, chain: chain))
                : .refuse(.attestationNotConfigured(.android, policy))
        case .unavailable(let platform, let word):
            unavailable(word, on: platform, body, at: endpoint, policy)
        }
    }

    /// Decides once the proof has been judged and counts as `verdict`.
    static func proved(
        _ verdict: SignInVerdict,
        _ body: SignInBody,
        at endpoint: SignInEndpoint,
        _ policy: SignInPolicy
    ) -> SignInDecision {
        if let least = policy.minimumTrust, verdict.trust < least {
            return .refuse(.trustTooLow(verdict.trust, least, policy))
        }
        // OFF-013: no text message for a caller that is not fully attested.
        if body.asksForTextMessage, verdict.trust != .hardware { return .refuse(.attestationRequired(policy)) }
        guard endpoint.completesSignIn else { return .accept(verdict, caps: []) }
        switch verdict.trust {
        case .hardware: return .accept(verdict, caps: [])
        case .degraded: return .accept(verdict, caps: [.degraded, .degradedOfClient])
        case .development: return .accept(verdict, caps: [.development])
        }
    }

    private static func without(
        _ body: SignInBody,
        at endpoint: SignInEndpoint,
        _ policy: SignInPolicy
    ) -> SignInDecision {
        if policy.isDevelopmentModeOn { return proved(.development, body, at: endpoint, policy) }
        // OFF-106, OFF-107: apps on earlier SDK versions may ask for e-mail codes, and for nothing else.
        guard policy.hasNativeApp, endpoint == .sendCode, !body.asksForTextMessage else {
            return .refuse(.missingAttestation(policy))
        }
        return .accept(nil, caps: [.codeRequests])
    }

    private static func unavailable(
        _ word: String,
        on platform: UnavailableReport.Platform,
        _ body: SignInBody,
        at endpoint: SignInEndpoint,
        _ policy: SignInPolicy
    ) -> SignInDecision {
        let outcome = UnavailableReport.outcome(
            of: word,
            platform: platform,
            isDevelopmentModeOn: policy.isDevelopmentModeOn,
            allowsDegraded: policy.allowsDegraded,
            hasAndroidApp: policy.hasAndroidApp
        )
        switch outcome {
        case .development: return proved(.development, body, at: endpoint, policy)
        case .degraded(let reason):
            return proved(SignInVerdict(trust: .degraded, reason: reason), body, at: endpoint, policy)
        case .developmentModeRequired: return .refuse(.developmentModeRequired(policy))
        case .attestationRequired: return .refuse(.attestationRequired(policy))
        case .attestationFailed(let reason): return .refuse(.attestationFailed(reason, on: .android, policy))
        case .attestationNotConfigured: return .refuse(.attestationNotConfigured(.android, policy))
        }
    }
}

/// A proof that came with a sign-in.
enum SignInProof: Equatable, Sendable {
    case ios(challenge: String, keyID: String, assertion: String)
    case android(challenge: String, chain: [String])

    var challenge: String {
        switch self {
        case .ios(let challenge, _, _), .android(let challenge, _): challenge
        }
    }

    var platform: AttestationReason.Platform {
        switch self {
        case .ios: .ios
        case .android: .android
        }
    }
}

/// A count of the last hour that refuses what would be one too many (requirements 11).
enum SignInCap: String, Sendable, CaseIterable {
    /// E-mail codes without an attestation, for an app.
    case codeRequests = "code"
    /// Completed sign-ins of development trust, for an app.
    case development = "dev"
    /// Completed sign-ins of degraded trust, for an app.
    case degraded = "degraded"
    /// The same for one client network.
    case degradedOfClient = "degraded-client"

    /// Most in any 3,600 seconds.
    var limit: Int {
        switch self {
        case .codeRequests: 300
        case .development: 200
        case .degraded: 500
        case .degradedOfClient: 30
        }
    }

    /// What a request past it is told.
    func refusal(retryAfter: Int, _ policy: SignInPolicy) -> Refusal {
        switch self {
        case .codeRequests:
            Refusal(
                .codeRequestsLimited,
                appID: policy.appID,
                nextSteps: ["Upgrade the SDK and pass attestation providers."],
                retryAfter: retryAfter
            )
        case .development:
            Refusal(
                .developmentSignInsLimited,
                appID: policy.appID,
                nextSteps: ["Sign in from an attested build, or wait."],
                retryAfter: retryAfter
            )
        case .degraded, .degradedOfClient:
            Refusal(
                .degradedSignInsLimited,
                appID: policy.appID,
                nextSteps: ["Wait, or sign in from a device with full attestation."],
                retryAfter: retryAfter
            )
        }
    }
}
