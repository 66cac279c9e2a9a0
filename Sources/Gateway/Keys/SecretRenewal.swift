// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
import Encodings
package import Store
package import Transport

/// Hashes anew, with the pepper in use, what was presented and is kept under an older one.
///
/// Isolated to the Reactor. A hash cannot be turned into another without its secret, so a rotation of the pepper goes
/// on with the uses of keys and secrets; what is never used keeps its old pepper, and `keyring list` counts it.
@Reactor
package final class SecretRenewal {
    /// Which secret of an app.
    package enum Place: Hashable, Sendable {
        case key(APIKeyID)
        case secret
        case debugToken(String)
    }

    private struct Subject: Hashable {
        let app: RecordID
        let place: Place
    }

    private let registry: RegistryStore
    private let peppers: PepperRing
    private var underWay: Set<Subject> = []

    /// A rotation meets all keys at once: what does not fit now is renewed at its next use.
    private static let mostUnderWay = 8

    package init(registry: RegistryStore, peppers: PepperRing) {
        self.registry = registry
        self.peppers = peppers
    }

    /// A secret of `app` was presented and is right: `text` is hashed anew where its hash names another pepper.
    package func presented(_ text: [UInt8], _ place: Place, of app: App) {
        guard let kept = place.hash(in: app.record), kept.pepper != peppers.newest else { return }
        let subject = Subject(app: app.recordID, place: place)
        guard underWay.count < Self.mostUnderWay, underWay.insert(subject).inserted else { return }
        Task { @Reactor in
            await renew(text, subject, kept)
            underWay.remove(subject)
        }
    }

    private func renew(_ text: [UInt8], _ subject: Subject, _ kept: HashedSecret) async {
        let fresh = peppers.hash(text.span, subject.place.purpose, createdAt: kept.createdAt)
        do throws(RegistryError) {
            _ = try await registry.change(app: .record(subject.app), by: KeyringKeeper.actor) {
                record throws(RegistryError) in
                // Revoked, rotated or renewed meanwhile: it is no more what was presented.
                guard subject.place.hash(in: record) == kept else { return [] }
                subject.place.put(fresh, in: &record)
                return [
                    HistoryEvent(
                        "secret_hashed_anew",
                        [("of", .string(subject.place.words)), ("pepper", .string(fresh.pepper))]
                    )
                ]
            }
        } catch {
            // The old pepper verifies until the next use.
        }
    }
}

extension SecretRenewal.Place {
    var purpose: SecretPurpose {
        switch self {
        case .key: .apiKey
        case .secret: .appSecret
        case .debugToken: .debugToken
        }
    }

    /// What the history calls it.
    var words: String {
        switch self {
        case .key(let id): id.rawValue
        case .secret: "secret"
        case .debugToken(let id): id
        }
    }

    /// The hash that is kept; nil where there is none any more.
    func hash(in record: AppRecord) -> HashedSecret? {
        switch self {
        case .key(let id): record.keys.first { $0.id == id }?.secret
        case .secret: record.secret
        case .debugToken(let id): record.debugTokens.first { $0.id == id }?.secret
        }
    }

    /// Keeps `hash` in place of the one that is there.
    func put(_ hash: HashedSecret, in record: inout AppRecord) {
        switch self {
        case .key(let id):
            for index in record.keys.indices where record.keys[index].id == id { record.keys[index].secret = hash }
        case .secret: record.secret = hash
        case .debugToken(let id):
            for index in record.debugTokens.indices where record.debugTokens[index].id == id {
                record.debugTokens[index].secret = hash
            }
        }
    }
}
