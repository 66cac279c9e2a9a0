// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Store

/// What an exchange ends in, before policies (VCH-001).
struct VouchVerdict: Sendable, Equatable {
    let trust: IntegrityTrust
    /// Why, the worst first; without signals.
    let reasons: [VouchReason]
    let source: VouchSource
    /// What the run token carries on proxied requests.
    let tokenTrust: Trust

    /// A verdict for these reasons: the worst wins, all are listed (VCH-018).
    init(_ reasons: [VouchReason], source: VouchSource, tokenTrust: Trust) {
        var distinct: [VouchReason] = []
        for reason in reasons where !distinct.contains(reason) { distinct.append(reason) }
        let failures = distinct.filter { $0.trust == .fail }
        let doubts = distinct.filter { $0.trust == .degraded }
        let rest = distinct.filter { $0.trust == nil }
        trust = failures.isEmpty ? (doubts.isEmpty ? .pass : .degraded) : .fail
        self.reasons = failures + doubts + rest
        self.source = source
        self.tokenTrust = trust == .pass ? tokenTrust : min(tokenTrust, .degraded)
    }

    /// The verdict on a proof; what was refused for no reason that is known here is malformed.
    init(_ verdict: ProofVerdict, isLive: Bool) {
        var reasons = verdict.reasons.map { VouchReason($0) }
        if verdict.trust == nil, !reasons.contains(where: { $0.trust == .fail }) { reasons.append(.malformed) }
        // Nobody's word was heard where there was nobody to ask.
        let unheard: [AttestationReason] = [.verifierNotConfigured, .platformUnavailable]
        let isUnheard = verdict.reason.map(unheard.contains) ?? false
        self.init(
            reasons,
            source: isUnheard ? .none : verdict.method == .appAttest ? .appAttest : .playIntegrity,
            tokenTrust: isLive ? verdict.trust ?? .degraded : .development
        )
    }

    /// A verdict that was remembered; nil if a word of it is not known any more.
    init?(_ remembered: RememberedVerdict) {
        let reasons = remembered.reasons.compactMap { VouchReason(code: $0) }
        guard reasons.count == remembered.reasons.count, let source = VouchSource(rawValue: remembered.source) else {
            return nil
        }
        self.init(reasons, source: source, tokenTrust: remembered.trust)
        guard trust.rawValue == remembered.verdict else { return nil }
    }

    /// A development device, known by its id alone (VCH-027).
    static let debug = VouchVerdict([.debugDevice], source: .debug, tokenTrust: .development)

    /// Whether the same proof may be given this verdict again (VCH-045).
    var mayBeRemembered: Bool {
        trust != .fail && (source == .appAttest || source == .playIntegrity)
            && !reasons.contains { $0.code == AttestationReason.platformUnavailable.rawValue }
    }
}

/// What an app's policies make of a verdict.
struct VouchRuling: Sendable, Equatable {
    /// Whether a rule refuses the run token.
    var isRefused = false
    /// The rules that refuse or would refuse: their devices are counted (VCH-031).
    var met: [VouchPolicy] = []

    /// Judges a verdict with the signals beside it.
    ///
    /// A reason's or signal's own rule comes before the rule of the whole verdict, so that one reason can be let by
    /// where degraded devices are refused. A failed exchange gives no token whatever a rule says (VCH-032).
    init(_ verdict: VouchVerdict, signals: [String], policies: [VouchPolicy]) {
        guard verdict.trust != .fail else { return }
        let general = policies.first { $0.when == IntegrityTrust.degraded.rawValue }
        for reason in verdict.reasons where reason.trust == .degraded {
            meet(policies.first { $0.when == reason.code } ?? general)
        }
        for signal in signals { meet(policies.first { $0.when == signal }) }
    }

    private mutating func meet(_ policy: VouchPolicy?) {
        guard let policy, policy.action != .allow, !met.contains(policy) else { return }
        met.append(policy)
        if policy.action == .refuse { isRefused = true }
    }
}
