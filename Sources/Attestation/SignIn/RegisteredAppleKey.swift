// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// An App Attest key as an app keeps it: what was attested once, and the last counter that was accepted.
///
/// Kept per app and key id, so that a key of one tenant's app means nothing to another's.
package struct RegisteredAppleKey: Sendable, Hashable {
    /// The raw key id.
    package let keyID: [UInt8]
    /// `04 || x || y`.
    package let point: [UInt8]
    /// Which environment made it.
    package let environment: AppAttestEnvironment
    /// The pair that it was registered under.
    package let app: AppleApp
    /// Who vouched for it.
    package let provenance: Provenance
    /// The highest counter that was accepted.
    package let counter: UInt32
    /// Whether its install was blocked.
    package let isBlocked: Bool

    /// A key with these facts, as a store reads it.
    package init(
        keyID: [UInt8],
        point: [UInt8],
        environment: AppAttestEnvironment,
        app: AppleApp,
        provenance: Provenance,
        counter: UInt32,
        isBlocked: Bool
    ) {
        self.keyID = keyID
        self.point = point
        self.environment = environment
        self.app = app
        self.provenance = provenance
        self.counter = counter
        self.isBlocked = isBlocked
    }

    /// What to keep once `attested` was accepted, beside what is kept already.
    ///
    /// The first registration wins: attesting a known key again never sets its counter back, nor unblocks it.
    package static func registering(_ attested: AttestedAppleKey, existing: RegisteredAppleKey?) -> RegisteredAppleKey {
        RegisteredAppleKey(
            keyID: attested.keyID,
            point: attested.point,
            environment: attested.environment,
            app: attested.app,
            provenance: attested.provenance,
            counter: existing?.counter ?? 0,
            isBlocked: existing?.isBlocked ?? false
        )
    }

    /// Judges an assertion of this key by what the app has registered and accepts now (OFF-036).
    ///
    /// An accepted counter still has to be compared and set in one step of the store.
    package func verdict(
        on assertion: String,
        apps: [AppleApp],
        environments: Set<AppAttestEnvironment>,
        clientDataHash: [UInt8]
    ) -> AppAssertionVerdict {
        guard !isBlocked else { return .refused(.deviceBlocked) }
        let key: AssertionKey
        do {
            key = try AssertionKey(point: point)
        } catch {
            return .refused(.unknownKey)
        }
        // Only the pair that the key was registered under, and only while it still is.
        let verdict = AppAssertionVerifier(apps: apps.filter { $0 == app })
            .verdict(on: assertion, key: key, previousCounter: counter, clientDataHash: clientDataHash)
        guard case .accepted = verdict, !environments.contains(environment) else { return verdict }
        return .refused(environment == .development ? .developmentNotAllowed : .productionNotAllowed)
    }

    /// This key with the counter of an accepted assertion.
    package func accepting(counter: UInt32) -> RegisteredAppleKey {
        RegisteredAppleKey(
            keyID: keyID,
            point: point,
            environment: environment,
            app: app,
            provenance: provenance,
            counter: counter,
            isBlocked: isBlocked
        )
    }
}
