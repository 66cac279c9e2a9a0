// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Store
import Transport

extension ProofJudge {
    /// Judges an Android key attestation.
    func chainVerdict(_ chain: [String], _ standing: ProofStanding) async -> ProofVerdict {
        let apps = standing.androidApps
        guard !apps.isEmpty else { return .refused(.notConfigured, .keyAttestation) }
        let vendor = anchors
        let statusList = bundle.statusList
        let verdict = await pool.run {
            KeyAttestationVerifier(anchors: standing.anchors(beside: vendor), apps: apps, statusList: statusList)
                .verdict(onChain: chain, challenges: standing.binding.androidChallenges, at: standing.now)
        }
        let trust: Trust? =
            switch verdict.trust {
            case .hardware: .hardware
            case .degraded: .degraded
            case .refused: nil
            }
        return ProofVerdict(
            trust: trust,
            reasons: verdict.reasons,
            method: .keyAttestation,
            provenance: verdict.provenance,
            package: verdict.description?.application.flatMap { $0.packages.count == 1 ? $0.packages[0] : nil }
        )
    }

    /// Judges a Play Integrity token with the app's own keys, or has Google open it.
    func tokenVerdict(_ token: String, _ standing: ProofStanding) async -> ProofVerdict {
        let apps = standing.androidApps
        let seals = seals
        guard !apps.isEmpty else {
            // VCH-015: where nothing can open a token every device is degraded, whatever is registered.
            let isOpened = !standing.playKeys(seals).isEmpty || rules.play.mayAsk(about: standing.app, seals: seals)
            return isOpened ? .refused(.notConfigured, .playIntegrity) : ProofVerdict(.notConfigured)
        }
        let verdict = await pool.run {
            IntegrityVerifier(apps: apps).verdict(
                on: token,
                keys: standing.playKeys(seals),
                nonce: standing.binding.text,
                at: standing.now
            )
        }
        // What the keys at hand do not open, Google may; whatever they open is decided.
        guard verdict == .notConfigured || verdict.reason == .decryptionFailed else { return ProofVerdict(verdict) }
        return ProofVerdict(await rules.play.verdict(on: token, standing, seals: seals) ?? verdict)
    }
}

extension ProofVerdict {
    /// The verdict on a token.
    init(_ verdict: IntegrityVerdict) {
        let trust: Trust? =
            switch verdict.trust {
            case .pass: .hardware
            case .degraded: .degraded
            case .fail: nil
            }
        self.init(trust: trust, reasons: verdict.reasons, method: .playIntegrity, provenance: verdict.provenance)
    }
}

extension ProofStanding {
    /// The keys that may open a token: the app's own, and the lab's while it counts.
    func playKeys(_ seals: SealingRing?) -> [PlayIntegrityKeys] {
        guard let seals else { return [] }
        var keys: [PlayIntegrityKeys] = []
        if let sealed = app.playKeys, let own = PlaySecrets.keys(sealed, for: app.recordID, with: seals) {
            keys.append(own)
        }
        if lab != nil, let sealed = app.labTrust?.playKeys,
            let played = PlaySecrets.keys(sealed, for: app.recordID, with: seals, provenance: .lab)
        {
            keys.append(played)
        }
        return keys
    }
}
