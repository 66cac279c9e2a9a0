// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Crypto
import Encodings
import Store
import Transport

/// One exchange of dialect vouch: nonce and proof in, verdict and run token out.
///
/// Isolated to the Reactor; made for one request.
@Reactor
struct VouchExchange {
    private let app: App
    private let isLive: Bool
    private let form: VouchForm
    private let worker: Worker
    private let now: Int64

    init(_ caller: VouchCaller, _ form: VouchForm, _ worker: Worker, now: Int64) {
        app = caller.app
        isLive = caller.isLive
        self.form = form
        self.worker = worker
        self.now = now
    }

    /// A verdict, and whether it was given before for the same proof.
    private struct Finding {
        let verdict: VouchVerdict
        var isFromCache = false
        /// What it may be remembered for; nil: it is not.
        var proof: String?
    }

    /// Runs the exchange; what cannot be judged because the store is away is thrown.
    func run() async throws(SignInFailure) -> LocalOutcome {
        if form.proof == nil, form.unavailable == nil, let fault = withoutProof() { return fault }
        guard try await worker.signIn.take(form.nonce, for: app, in: .vouch, isTest: !isLive) else {
            return try await conclude(
                Finding(verdict: VouchVerdict([.nonceMismatch], source: .none, tokenTrust: .degraded))
            )
        }
        return try await conclude(try await finding())
    }

    /// Without a proof only a listed device with a test key goes on (VCH-027, VCH-028); nil: this is one.
    ///
    /// A live key is told so whatever the list says, and the nonce stays: nothing was tried.
    private func withoutProof() -> LocalOutcome? {
        guard !isLive else {
            return .vouch(403, "debug_not_allowed", "Debug attestation needs a test key.", app: app)
        }
        guard !isDebugDevice else { return nil }
        let fields = form.platform == .ios ? "attestation or assertion" : "token"
        return .vouch(VouchFault("The body is missing a field: \(fields), or unavailable."), app: app)
    }

    private var isDebugDevice: Bool {
        app.record.vouchSettings.debugDevices.contains { $0.id == form.device }
    }

    private func finding() async throws(SignInFailure) -> Finding {
        if let reason = form.unavailable {
            let trust: Trust = isLive ? .degraded : .development
            return Finding(verdict: VouchVerdict([reason], source: .none, tokenTrust: trust))
        }
        guard let proof = form.proof else { return Finding(verdict: .debug) }
        let remembered = try await remembered()
        // The same token again within the window is known already; who does not hold it starts anew (VCH-046).
        if case .playToken(let token) = proof, let remembered, remembered.proof == Self.name(of: token),
            let verdict = VouchVerdict(remembered)
        {
            return Finding(verdict: verdict, isFromCache: true)
        }
        let judged = try await worker.signIn.verdict(
            on: proof,
            over: ProofBinding(nonce: form.nonce),
            for: app,
            in: .vouch,
            now: now
        )
        // A fresh assertion of the key that the verdict was given for.
        if case .appleAssertion = proof, judged.trust != nil, let key = judged.deviceKey, let remembered,
            remembered.proof == key, let verdict = VouchVerdict(remembered)
        {
            return Finding(verdict: verdict, isFromCache: true)
        }
        var finding = Finding(verdict: VouchVerdict(judged, isLive: isLive))
        if finding.verdict.mayBeRemembered { finding.proof = judged.deviceKey ?? tokenName(proof) }
        return finding
    }

    /// What is remembered of this device with the same build.
    private func remembered() async throws(SignInFailure) -> RememberedVerdict? {
        guard app.record.vouchSettings.verdictCache > 0 else { return nil }
        let remembered = try await stored { () async throws(StoreError) in
            try await worker.state.verdicts.remembered(device: form.device, isLive: isLive, of: app.recordID)
        }
        guard let remembered, remembered.version == form.version, remembered.platform == form.platform.rawValue else {
            return nil
        }
        return remembered
    }

    // MARK: The end

    private func conclude(_ finding: Finding) async throws(SignInFailure) -> LocalOutcome {
        let settings = app.record.vouchSettings
        let verdict = finding.verdict
        let ruling = VouchRuling(verdict, signals: form.signals, policies: settings.policies)
        try await record(finding, ruling, settings)
        var reasons = verdict.reasons + form.signals.compactMap { VouchReason(code: $0) }
        var token: (text: String, expiresAt: Int64)?
        if ruling.isRefused {
            reasons.append(.policyRefused)
        } else if verdict.trust != .fail {
            token = try await runToken(verdict, settings)
        }
        let body = VouchSuccess.exchange(
            verdict,
            reasons: reasons,
            token: token,
            isFromCache: finding.isFromCache
        )
        return .answer(.json(200, body), app: app, reason: verdict.trust == .pass ? nil : reasons.first?.code)
    }

    private func record(
        _ finding: Finding,
        _ ruling: VouchRuling,
        _ settings: VouchSettings
    ) async throws(SignInFailure) {
        let verdict = finding.verdict
        let codes = verdict.reasons.map(\.code)
        let row = VerdictRow(
            device: form.device,
            version: form.version,
            platform: form.platform.rawValue,
            verdict: verdict.trust.rawValue,
            reasons: codes + form.signals,
            source: verdict.source.rawValue,
            isDebug: verdict.source == .debug,
            isFromCache: finding.isFromCache,
            isLive: isLive
        )
        let kept = finding.proof.map { proof in
            RememberedVerdict(
                version: form.version,
                platform: form.platform.rawValue,
                verdict: verdict.trust.rawValue,
                reasons: codes,
                source: verdict.source.rawValue,
                trust: verdict.tokenTrust,
                proof: proof
            )
        }
        try await stored { () async throws(StoreError) in
            try await worker.state.verdicts.record(
                row,
                of: app.recordID,
                met: ruling.met,
                kept: settings.verdictCache > 0 ? kept : nil,
                seconds: settings.verdictCache
            )
        }
    }

    private func runToken(
        _ verdict: VouchVerdict,
        _ settings: VouchSettings
    ) async throws(SignInFailure) -> (text: String, expiresAt: Int64) {
        let record = RunTokenRecord(
            device: form.device,
            version: form.version,
            platform: form.platform.rawValue,
            verdict: verdict.trust.rawValue,
            trust: verdict.tokenTrust,
            isDebug: verdict.source == .debug,
            isLive: isLive,
            organization: app.organization,
            appID: app.appID
        )
        let token: String?
        do {
            token = RunTokenText.make(for: app.recordID, random: try RandomBytes.make(32))
        } catch {
            throw .away
        }
        guard let token else { throw .away }
        let hash = worker.state.peppers.hash(token.utf8.span, .runToken, createdAt: now).hash
        let kept = try await stored { () async throws(StoreError) in
            try await worker.state.runTokenStore.keep(
                record,
                hash: hash,
                of: app.recordID,
                seconds: settings.runTokenLife
            )
        }
        return (token, kept.expiresAt)
    }

    private func tokenName(_ proof: Proof) -> String? {
        guard case .playToken(let token) = proof else { return nil }
        return Self.name(of: token)
    }

    private static func name(of token: String) -> String {
        Hex.encode(SHA256.hash(Array(token.utf8)).bytes)
    }

    private func stored<Value>(_ call: () async throws(StoreError) -> Value) async throws(SignInFailure) -> Value {
        do {
            return try await call()
        } catch {
            throw .away
        }
    }
}
