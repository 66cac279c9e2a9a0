// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto

/// One signing key as Redis keeps it.
package struct SigningKeyRecord: Codable, Sendable, Equatable {
    /// Its thumbprint, the `kid` of its tokens.
    package var id: String
    package var algorithm: TokenAlgorithm
    /// Published from here on, milliseconds since 1970.
    package var createdAt: Int64
    /// Signs from here on: later than published, so that no verifier meets a key it has not seen.
    package var signsFrom: Int64
    /// Signs no more and is published no more from here on; nil for the newest.
    package var verifiesUntil: Int64?
    /// The PKCS #8 form, sealed for `sallyport signing-key` and the id.
    package var sealed: SealedText

    static func purpose(_ id: String) -> String { "signing-key \(id)" }

    /// The same key, sealed with the newest key of `sealing`.
    package func resealed(with sealing: SealingRing) throws(SealingProblem) -> SigningKeyRecord {
        var record = self
        let purpose = Self.purpose(id)
        record.sealed = try sealing.seal(try sealing.open(sealed, purpose: purpose), purpose: purpose)
        return record
    }
}

/// Why a ring of signing keys cannot be used.
package enum SigningKeyProblem: Error, Equatable {
    case sealing(SealingProblem)
    /// The sealed bytes are no key, or not the one its id says.
    case notTheKey(id: String)
    case cryptography
}

/// The keys that sign our tokens: one signs, the next is published ahead, old ones verify until their tokens end.
package struct SigningKeyRing: Sendable {
    private struct Entry: Sendable {
        let record: SigningKeyRecord
        let key: PrivateKey
    }

    /// Newest first.
    private let entries: [Entry]

    /// How long a key is published before it signs: key sets may be cached for ten minutes.
    package static let publication: Int64 = 600_000

    /// Opens the records; a key that this node cannot open makes it not ready rather than half able.
    package init(_ records: [SigningKeyRecord], sealing: SealingRing) throws(SigningKeyProblem) {
        var entries: [Entry] = []
        for record in records.sorted(by: { $0.createdAt > $1.createdAt }) {
            let bytes: [UInt8]
            do {
                bytes = try sealing.open(record.sealed, purpose: SigningKeyRecord.purpose(record.id))
            } catch {
                throw .sealing(error)
            }
            let key: PrivateKey
            do {
                key = try PrivateKey(der: bytes)
            } catch {
                throw .notTheKey(id: record.id)
            }
            guard JSONWebKeySet.thumbprint(key.publicKey) == record.id, record.algorithm.fits(key.kind) else {
                throw .notTheKey(id: record.id)
            }
            entries.append(Entry(record: record, key: key))
        }
        self.entries = entries
    }

    package var records: [SigningKeyRecord] { entries.map(\.record) }

    /// Signs at `now`: the newest key whose time has come, of one algorithm or of any.
    package func signer(issuer: String, algorithm: TokenAlgorithm? = nil, now: Int64) -> TokenSigner? {
        let entry = entries.first { entry in
            entry.record.signsFrom <= now && (entry.record.verifiesUntil ?? .max) > now
                && (algorithm == nil || entry.record.algorithm == algorithm)
        }
        return entry.flatMap { TokenSigner(key: $0.key, issuer: issuer) }
    }

    /// The next time after `now` at which a key begins to sign or ends; nil when nothing is to change.
    package func nextChange(after now: Int64) -> Int64? {
        entries.flatMap { [$0.record.signsFrom, $0.record.verifiesUntil ?? .max] }
            .filter { $0 > now && $0 < .max }.min()
    }

    /// Everything that verifies at `now`, the key that is only published included.
    package func verificationKeys(now: Int64) -> [VerificationKey] {
        entries.filter { ($0.record.verifiesUntil ?? .max) > now }.compactMap { entry in
            VerificationKey(
                id: entry.record.id,
                publicKey: entry.key.publicKey,
                algorithms: [entry.record.algorithm]
            )
        }
    }

    /// The records after a rotation at `now`: a new key published at once, the others kept for `overlap` longer.
    ///
    /// The first key of a ring signs at once: nobody holds an older set. With EdDSA an ES256 key is made beside it,
    /// which signs the hand-off to upstreams.
    package static func rotated(
        _ records: [SigningKeyRecord],
        algorithm: TokenAlgorithm,
        overlap: Int64,
        sealing: SealingRing,
        now: Int64
    ) throws(SigningKeyProblem) -> [SigningKeyRecord] {
        let signsFrom = records.isEmpty ? now : now + publication
        let kept = records.filter { ($0.verifiesUntil ?? .max) > now }.map { record in
            var record = record
            record.verifiesUntil = min(record.verifiesUntil ?? .max, signsFrom + overlap)
            return record
        }
        var made: [SigningKeyRecord] = []
        for algorithm in algorithm == .edDSA ? [TokenAlgorithm.edDSA, .es256] : [.es256] {
            made.append(try make(algorithm, sealing: sealing, now: now, signsFrom: signsFrom))
        }
        return made + kept
    }

    private static func make(
        _ algorithm: TokenAlgorithm,
        sealing: SealingRing,
        now: Int64,
        signsFrom: Int64
    ) throws(SigningKeyProblem) -> SigningKeyRecord {
        let made: (id: String, bytes: [UInt8])
        do throws(CryptoError) {
            let key = try PrivateKey.generate(algorithm == .edDSA ? .ed25519 : .p256)
            made = (JSONWebKeySet.thumbprint(key.publicKey) ?? "", try key.pkcs8())
        } catch {
            throw .cryptography
        }
        let sealed: SealedText
        do {
            sealed = try sealing.seal(made.bytes, purpose: SigningKeyRecord.purpose(made.id))
        } catch {
            throw .sealing(error)
        }
        return SigningKeyRecord(
            id: made.id,
            algorithm: algorithm,
            createdAt: now,
            signsFrom: signsFrom,
            verifiesUntil: nil,
            sealed: sealed
        )
    }
}
