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
}
