// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Crypto
import Encodings
import Store
import Transport

extension ProofJudge {
    /// Judges a new key and registers it once it is right.
    func attestation(
        _ object: String,
        _ keyID: String,
        _ standing: ProofStanding
    ) async throws(Failure) -> ProofVerdict {
        let apps = standing.appleApps
        guard !apps.isEmpty else { return .refused(.notConfigured, .appAttest) }
        let vendor = anchors
        let environments = standing.environments(rules.environments)
        let verdict = await pool.run {
            let verifier = AppAttestationVerifier(
                anchors: standing.anchors(beside: vendor).apple,
                apps: apps,
                environments: environments
            )
            return verifier.verdict(
                on: object,
                keyID: keyID,
                clientDataHash: standing.binding.hash.bytes,
                at: standing.now
            )
        }
        switch verdict {
        case .refused(let reason): return .refused(reason, .appAttest)
        case .accepted(let key):
            let isKept = try await stored { () async throws(StoreError) in
                try await keys.register(key, of: standing.app.recordID, in: standing.dialect, at: standing.now)
            }
            return isKept ? accepted(key.keyID, key.provenance) : .refused(.deviceBlocked, .appAttest)
        }
    }

    /// Judges a signature of a registered key and takes its counter once it is right.
    func assertion(
        _ object: String,
        _ keyID: String,
        _ standing: ProofStanding
    ) async throws(Failure) -> ProofVerdict {
        let apps = standing.appleApps
        guard !apps.isEmpty else { return .refused(.notConfigured, .appAttest) }
        guard let id = Self.keyID(keyID) else { return .refused(.malformed, .appAttest) }
        let found = try await stored { () async throws(StoreError) in
            try await keys.key(id, of: standing.app.recordID, in: standing.dialect)
        }
        // A lab's key counts only as long as the lab does.
        guard let key = found, key.provenance == .vendor || standing.lab != nil else {
            return .refused(.unknownKey, .appAttest)
        }
        let verdict = key.verdict(
            on: object,
            apps: apps,
            environments: standing.environments(rules.environments),
            clientDataHash: standing.binding.hash.bytes
        )
        switch verdict {
        case .refused(let reason): return .refused(reason, .appAttest)
        case .accepted(let counter, _, _):
            let advance = try await stored { () async throws(StoreError) in
                try await keys.advance(
                    id,
                    of: standing.app.recordID,
                    in: standing.dialect,
                    to: counter,
                    at: standing.now
                )
            }
            switch advance {
            case .taken: return accepted(id, key.provenance)
            case .notIncreasing: return .refused(.counterNotIncreasing, .appAttest)
            case .unknown: return .refused(.unknownKey, .appAttest)
            case .blocked: return .refused(.deviceBlocked, .appAttest)
            }
        }
    }

    private func accepted(_ keyID: [UInt8], _ provenance: Provenance) -> ProofVerdict {
        ProofVerdict(
            trust: .hardware,
            method: .appAttest,
            provenance: provenance,
            deviceKey: Hex.encode(keyID)
        )
    }

    /// The raw id of a key, which is a SHA-256.
    private static func keyID(_ text: String) -> [UInt8]? {
        do {
            let id = try Base64.decode(text, alphabet: .either, padding: .optional, limit: 64)
            return id.count == 32 ? id : nil
        } catch {
            return nil
        }
    }

    private func stored<Value>(
        _ call: () async throws(StoreError) -> Value
    ) async throws(Failure) -> Value {
        do {
            return try await call()
        } catch {
            throw .store(error)
        }
    }
}
