// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Testing

@testable import Gateway

/// The decision table of requirements 13.1, row by row, with the mode off and on.
@Suite struct SignInDecisionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var attestation: PresentedAttestation?
        var endpoint = SignInEndpoint.verify
        var isText = false
        var apps: [AttestationReason.Platform] = [.ios, .android]
        var allowsDegraded = true
        /// What is expected with the mode off, then on.
        var off: String
        var on: String

        var testDescription: String { "\(attestation.map { "\($0)" } ?? "nothing") \(endpoint) \(apps) \(isText)" }
    }

    static let proof = PresentedAttestation.ios(challenge: "c", keyID: "k", assertion: "a")
    static let chain = PresentedAttestation.android(challenge: "c", chain: [])

    static let rows: [Row] = [
        Row(endpoint: .sendCode, off: "accept nothing [code]", on: "accept development []"),
        Row(endpoint: .sendCode, apps: [], off: "401 native_registration", on: "accept development []"),
        Row(endpoint: .verify, off: "401 attestation", on: "accept development [dev]"),
        Row(endpoint: .guest, off: "401 attestation", on: "accept development [dev]"),
        Row(endpoint: .verify, apps: [], off: "401 native_registration", on: "accept development [dev]"),
        Row(endpoint: .guest, apps: [], off: "401 native_registration", on: "accept development [dev]"),
        Row(endpoint: .sendCode, isText: true, off: "401 attestation", on: "403 attestation_required"),
        Row(
            endpoint: .sendCode,
            isText: true,
            apps: [],
            off: "401 native_registration",
            on: "403 attestation_required"
        ),
        report(.ios, "simulator"), report(.android, "emulator"), report(.ios, "expo_go"), report(.android, "expo_go"),
        Row(
            attestation: .unavailable(platform: .android, word: "unsupported"),
            off: "accept degraded device_cannot_attest [degraded,degraded-client]",
            on: "accept development [dev]"
        ),
        Row(
            attestation: .unavailable(platform: .android, word: "keystore_error"),
            allowsDegraded: false,
            off: "403 attestation_failed device_cannot_attest",
            on: "accept development [dev]"
        ),
        Row(
            attestation: .unavailable(platform: .android, word: "unsupported"),
            apps: [.ios],
            off: "403 attestation_not_configured",
            on: "accept development [dev]"
        ),
        Row(
            attestation: .unavailable(platform: .android, word: "unsupported"),
            endpoint: .sendCode,
            off: "accept degraded device_cannot_attest []",
            on: "accept development []"
        ),
        Row(
            attestation: .unavailable(platform: .android, word: "unsupported"),
            endpoint: .sendCode,
            isText: true,
            off: "403 attestation_required",
            on: "403 attestation_required"
        ),
        same(.unavailable(platform: .ios, word: "unsupported"), "403 attestation_required"),
        same(.unavailable(platform: .ios, word: "emulator"), "403 attestation_required"),
        same(.unavailable(platform: .android, word: "simulator"), "403 attestation_required"),
        same(.unavailable(platform: .android, word: "jailbroken"), "403 attestation_required"),
        same(.unknown, "403 attestation_required"),
        same(proof, "judge"), same(chain, "judge"),
        same(proof, "403 attestation_not_configured", apps: [.android]),
        same(chain, "403 attestation_not_configured", apps: [.ios]),
        same(chain, "403 attestation_not_configured", apps: []),
    ]

    private static func same(
        _ attestation: PresentedAttestation,
        _ outcome: String,
        apps: [AttestationReason.Platform] = [.ios, .android]
    ) -> Row {
        Row(attestation: attestation, apps: apps, off: outcome, on: outcome)
    }

    private static func report(_ platform: UnavailableReport.Platform, _ word: String) -> Row {
        Row(
            attestation: .unavailable(platform: platform, word: word),
            off: "403 development_mode_required",
            on: "accept development [dev]"
        )
    }

    @Test(arguments: rows) func `each row of the table`(_ row: Row) {
        for isOn in [false, true] {
            let decision = SignInDecision.first(body(row), at: row.endpoint, policy(row, isOn: isOn))
            #expect(describe(decision) == (isOn ? row.on : row.off))
        }
    }

    @Test func `a verdict is capped by its trust and only where a sign-in completes`() {
        let row = Row(off: "", on: "")
        let policy = policy(row, isOn: false)
        for (trust, endpoint, expected) in [
            (Trust.hardware, SignInEndpoint.verify, "accept hardware []"),
            (.degraded, .guest, "accept degraded [degraded,degraded-client]"),
            (.degraded, .sendCode, "accept degraded []"),
            (.development, .verify, "accept development [dev]"), (.development, .sendCode, "accept development []"),
        ] {
            let decision = SignInDecision.proved(SignInVerdict(trust: trust), body(row), at: endpoint, policy)
            #expect(describe(decision) == expected)
        }
    }

    @Test func `a text message goes to hardware only`() {
        let row = Row(endpoint: .sendCode, isText: true, off: "", on: "")
        for trust in Trust.allCases {
            let verdict = SignInVerdict(trust: trust)
            let decision = SignInDecision.proved(verdict, body(row), at: .sendCode, policy(row, isOn: false))
            let refused = "403 attestation_required"
            #expect(describe(decision) == (trust == .hardware ? "accept hardware []" : refused))
        }
    }

    @Test func `a route's least trust holds for sign-ins too`() {
        let row = Row(off: "", on: "")
        var policy = policy(row, isOn: true)
        policy = SignInPolicy(
            appID: policy.appID,
            hasAppleApp: true,
            packages: [],
            allowsDegraded: true,
            isDevelopmentModeOn: true,
            isProduction: false,
            minimumTrust: .degraded
        )
        #expect(describe(.first(body(row), at: .verify, policy)) == "403 trust_too_low")
        let accepted = SignInDecision.proved(SignInVerdict(trust: .degraded), body(row), at: .sendCode, policy)
        #expect(describe(accepted) == "accept degraded []")
    }

    @Test func `a production app is never sent to development mode`() {
        let policy = SignInPolicy(
            appID: AppID(rawValue: "app_1"),
            hasAppleApp: true,
            packages: [],
            allowsDegraded: true,
            isDevelopmentModeOn: false,
            isProduction: true
        )
        let refusal = Refusal.developmentModeRequired(policy)
        #expect(!refusal.nextSteps.contains { $0.contains("dev-mode") })
        #expect(refusal.sentence == "This device cannot attest, and the application is marked production.")
    }

    @Test(arguments: [
        (
            AttestationReason.signingCertificateMismatch,
            "sallyport native add android --package com.a --sha256 <certificate SHA-256>"
        ),
        (.packageMismatch, "sallyport native add android --package <package> --sha256 <certificate SHA-256>"),
        (.developmentNotAllowed, "sallyport dev-builds on"), (.bootloaderUnlocked, "sallyport degraded allow"),
        (.appNotRegistered, "sallyport native add ios --bundle-id <bundle id> --team-id <team id>"),
        (.unknownKey, "Register a new key and try again."),
        (.challengeInvalid, "Request a new challenge for each attempt."),
    ])
    func `the first step mends the reason`(_ reason: AttestationReason, _ step: String) {
        let policy = SignInPolicy(
            appID: AppID(rawValue: "app_1"),
            hasAppleApp: true,
            packages: ["com.a"],
            allowsDegraded: false,
            isDevelopmentModeOn: false,
            isProduction: false
        )
        #expect(Refusal.attestationFailed(reason, on: .android, policy).nextSteps.first == step)
    }

    @Test(arguments: [
        ("com.example.other", "com.example.other"), ("com.b; rm -rf ~", "<package>"), ("$(reboot).x", "<package>"),
        ("com.b --app app_2", "<package>"), ("", "<package>"),
    ])
    func `a package that the proof names is filled in, where it has the form of one`(_ named: String, _ told: String) {
        let policy = policy(Row(apps: [], off: "", on: ""), isOn: false)
        for reason in [AttestationReason.packageMismatch, .signingCertificateMismatch] {
            let steps = Refusal.attestationFailed(reason, on: .android, of: named, policy).nextSteps
            #expect(steps == ["sallyport native add android --package \(told) --sha256 <certificate SHA-256>"])
        }
    }

    @Test func `what is malformed is mended on its own platform`() {
        let policy = policy(Row(apps: [], off: "", on: ""), isOn: false)
        let steps = [AttestationReason.Platform.ios, .android].map {
            Refusal.attestationFailed(.malformed, on: $0, policy).nextSteps.joined()
        }
        #expect(steps[0].contains("App Attest") && !steps[0].contains("chain"))
        #expect(steps[1].contains("chain") && !steps[1].contains("App Attest"))
    }

    @Test(arguments: [false, true])
    func `an ended development session is not told to turn on what is refused`(_ isProduction: Bool) {
        let steps = NextSteps.developmentEnded(isProduction: isProduction)
        #expect(steps.contains { $0.contains("dev-mode on") } != isProduction)
        #expect(steps.first == "Sign in again from an attested build.")
    }

    private func body(_ row: Row) -> SignInBody {
        SignInBody(attestation: row.attestation, asksForTextMessage: row.isText, refreshToken: nil)
    }

    private func policy(_ row: Row, isOn: Bool) -> SignInPolicy {
        SignInPolicy(
            appID: AppID(rawValue: "app_1"),
            hasAppleApp: row.apps.contains(.ios),
            packages: row.apps.contains(.android) ? ["com.a"] : [],
            allowsDegraded: row.allowsDegraded,
            isDevelopmentModeOn: isOn,
            isProduction: false
        )
    }

    private func describe(_ decision: SignInDecision) -> String {
        switch decision {
        case .judge: return "judge"
        case .accept(let verdict, let caps):
            let words = [verdict?.trust.rawValue ?? "nothing", verdict?.reason?.rawValue].compactMap { $0 }
            return "accept \(words.joined(separator: " ")) [\(caps.map(\.rawValue).joined(separator: ","))]"
        case .refuse(let refusal):
            let word = refusal.code.status == 401 ? refusal.missing?.rawValue ?? "" : refusal.code.rawValue
            return ["\(refusal.code.status)", word, refusal.reason].compactMap { $0 }.joined(separator: " ")
        }
    }
}
