// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store
import Telemetry

extension KeyringKeeper {
    /// The ring: made at the first start of all, and without keys whose tokens have all ended.
    func settledSigning() async throws(RegistryError) -> SigningDocument {
        let known = try await registry.document(SigningDocument.self).document
        if known.keys.isEmpty { return try await rotateSigning(by: Self.actor).document }
        let moment = now()
        guard known.keys.contains(where: { ($0.verifiesUntil ?? .max) <= moment }) else { return known }
        return try await registry.change(SigningDocument.self, by: Self.actor) { document throws(RegistryError) in
            let ended = document.keys.filter { ($0.verifiesUntil ?? .max) <= moment }
            document.keys.removeAll { ended.contains($0) }
            return ended.map { HistoryEvent("signing_key_ended", [("key_id", .string($0.id))]) }
        }.document
    }

    /// Publishes a new signing key; it signs when every verifier has had the time to see it.
    func rotateSigning(by: String) async throws(RegistryError) -> (document: SigningDocument, sequence: Int?) {
        let moment = now()
        let algorithm = algorithm()
        return try await registry.change(SigningDocument.self, by: by) { document throws(RegistryError) in
            // At the first start another node may have been faster.
            if by == Self.actor, !document.keys.isEmpty { return [] }
            guard document.keys.count < Self.mostSigningKeys else {
                throw .rejected(
                    code: "too_many_keys",
                    message: "\(document.keys.count) signing keys are still needed; the oldest ends by itself"
                )
            }
            let word = document.keys.isEmpty ? "signing_key_made" : "signing_key_rotated"
            do {
                let sealing = try material.sealingRing(current: keyring.seal)
                document.keys = try SigningKeyRing.rotated(
                    document.keys,
                    algorithm: algorithm,
                    overlap: Self.overlap,
                    sealing: sealing,
                    now: moment
                )
            } catch let problem as SigningKeyProblem {
                throw .rejected(code: "keys_unusable", message: problem.sentence)
            } catch let problem as SealingProblem {
                throw .rejected(code: "keys_unusable", message: problem.sentence)
            } catch {
                throw .rejected(code: "keys_unusable", message: "a signing key could not be made")
            }
            return document.keys.filter { $0.createdAt == moment }.map { made in
                HistoryEvent(word, [("key_id", .string(made.id)), ("algorithm", .string(made.algorithm.rawValue))])
            }
        }
    }

    /// Our longest tokens live so long: a key verifies until the last that it signed has ended.
    private static let overlap: Int64 = 30 * 86_400_000
    /// Key sets may hold 64 keys where they are read; a quarter of it is more than anybody needs in a month.
    private static let mostSigningKeys = 16

    /// Seals with the key in use what is sealed with another.
    func reseal(with sealing: SealingRing) async throws(RegistryError) {
        let change = try await registry.change(SigningDocument.self, by: Self.actor) { document throws(RegistryError) in
            let count = document.keys.count { $0.sealed.key != sealing.newest }
            do throws(SealingProblem) {
                for index in document.keys.indices where document.keys[index].sealed.key != sealing.newest {
                    document.keys[index] = try document.keys[index].resealed(with: sealing)
                }
            } catch {
                throw .rejected(code: "keys_unusable", message: error.sentence)
            }
            return [HistoryEvent("sealed_anew", [("seal", .string(sealing.newest)), ("count", .integer(count))])]
        }
        if change.sequence != nil { log.info("sealed anew", ["seal": sealing.newest]) }
    }
}
