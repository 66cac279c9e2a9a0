// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Store
import Testing

@testable import Gateway

@Suite struct VouchVerdictTests {
    private func verdict(_ reasons: [AttestationReason], trust: Trust?, isLive: Bool = true) -> VouchVerdict {
        VouchVerdict(ProofVerdict(trust: trust, reasons: reasons, method: .playIntegrity), isLive: isLive)
    }

    @Test func `the worst reason decides and all are listed, the worst first`() {
        let worst = verdict([.licenceNotEvaluated, .deviceEmulator, .appUnofficialInstall], trust: nil)
        #expect(worst.trust == .fail)
        #expect(worst.reasons.map(\.code) == ["device_emulator", "app_unofficial_install", "licence_not_evaluated"])
        #expect(verdict([.licenceNotEvaluated], trust: .degraded).trust == .degraded)
        #expect(verdict([], trust: .hardware).trust == .pass)
    }

    @Test func `every reason of a verifier has a code with a sentence`() {
        for reason in AttestationReason.allCases {
            let known = VouchReason(code: VouchReason(reason).code)
            #expect(known != nil && known?.trust == reason.vouchOutcome.trust, "\(reason)")
        }
    }

    @Test func `what was refused is never a pass`() {
        #expect(verdict([], trust: nil).trust == .fail)
        #expect(verdict([.verifierNotConfigured], trust: .degraded).source == .none)
        #expect(verdict([.platformUnavailable], trust: .degraded).source == .none)
        #expect(!verdict([.platformUnavailable], trust: .degraded).mayBeRemembered)
        #expect(!verdict([.deviceEmulator], trust: nil).mayBeRemembered && !VouchVerdict.debug.mayBeRemembered)
        #expect(verdict([], trust: .hardware).mayBeRemembered)
    }

    @Test func `a test key's token is development, whatever the phone proved`() {
        #expect(verdict([], trust: .hardware).tokenTrust == .hardware)
        #expect(verdict([], trust: .hardware, isLive: false).tokenTrust == .development)
        #expect(verdict([.licenceNotEvaluated], trust: .degraded).tokenTrust == .degraded)
    }

    @Test func `a reason's own rule comes before the rule of degraded`() {
        func policy(_ when: String, _ action: VouchPolicy.Action) -> VouchPolicy {
            VouchPolicy(when: when, action: action, since: 0)
        }
        let degraded = verdict([.licenceNotEvaluated], trust: .degraded)
        func ruling(_ policies: [VouchPolicy], signals: [String] = [], of one: VouchVerdict? = nil) -> VouchRuling {
            VouchRuling(one ?? degraded, signals: signals, policies: policies)
        }
        let refuse = policy("degraded", .refuse)
        let allow = policy("licence_not_evaluated", .allow)
        #expect(ruling([]).isRefused == false && ruling([refuse]).isRefused)
        #expect(!ruling([refuse, allow]).isRefused && ruling([refuse, allow]).met.isEmpty)
        #expect(ruling([refuse, policy("app_not_evaluated", .allow)]).isRefused)
        let monitor = policy("degraded", .monitor)
        #expect(!ruling([monitor]).isRefused && ruling([monitor]).met == [monitor])
        let pass = verdict([], trust: .hardware)
        #expect(!ruling([refuse], of: pass).isRefused)
        #expect(ruling([policy("signal_rooted", .refuse)], signals: ["signal_rooted"], of: pass).isRefused)
        #expect(!ruling([policy("signal_rooted", .refuse)], signals: ["signal_hooking"], of: pass).isRefused)
        let failed = verdict([.deviceEmulator], trust: nil)
        #expect(ruling([monitor], of: failed).met.isEmpty, "a failure is no policy's to count")
    }
}
