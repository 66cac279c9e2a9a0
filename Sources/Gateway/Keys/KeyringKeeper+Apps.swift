// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store
import Telemetry

extension KeyringKeeper {
    /// What seals and opens what apps keep; nil where no sealing key can be used.
    var sealing: SealingRing? {
        do {
            return try material.sealingRing(current: keyring.seal)
        } catch {
            return nil
        }
    }

    /// Seals with the key in use what apps keep sealed with another.
    func resealApps(with sealing: SealingRing) async throws(RegistryError) {
        let apps = try await registry.apps()
        for problem in apps.problems {
            log.error("not sealed anew: it cannot be read", ["what": problem.what, "reason": problem.reason])
        }
        for app in apps.elements where app.sealedTexts.contains(where: { $0.key != sealing.newest }) {
            let change = try await registry.change(app: .record(app.recordID), by: Self.actor) {
                record throws(RegistryError) in
                var count = 0
                do throws(SealingProblem) {
                    count += try record.playKeys.reseal(PlaySecrets.keyPurpose(record.recordID), with: sealing)
                    count += try record.playAccount.reseal(PlaySecrets.accountPurpose(record.recordID), with: sealing)
                    if var lab = record.labTrust {
                        count += try lab.playKeys.reseal(PlaySecrets.keyPurpose(record.recordID), with: sealing)
                        record.labTrust = lab
                    }
                } catch {
                    throw .rejected(code: "keys_unusable", message: error.sentence)
                }
                return [HistoryEvent("sealed_anew", [("seal", .string(sealing.newest)), ("count", .integer(count))])]
            }
            if change.sequence != nil {
                log.info("sealed anew", ["app": app.appID.rawValue, "seal": sealing.newest])
            }
        }
    }
}

extension AppRecord {
    /// Everything that the record keeps sealed.
    var sealedTexts: [SealedText] {
        [playKeys, playAccount, labTrust?.playKeys].compactMap { $0 }
    }
}

extension SealedText? {
    /// Seals the text anew where another key sealed it; how many were.
    fileprivate mutating func reseal(_ purpose: String, with sealing: SealingRing) throws(SealingProblem) -> Int {
        guard let text = self, text.key != sealing.newest else { return 0 }
        self = try sealing.seal(try sealing.open(text, purpose: purpose), purpose: purpose)
        return 1
    }
}
