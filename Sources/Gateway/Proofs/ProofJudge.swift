// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation
package import Credentials
package import Store
package import Transport

/// Judges native proofs for the worker's dialects: pure verifiers, what is registered, what is trusted now.
///
/// Isolated to the Reactor; chains are checked on threads of their own, because they take longer than a turn may.
///
/// The challenge is the caller's: it was taken from the store before a proof comes here. What a proof changes is
/// changed here, once it is right: a new App Attest key is registered, an assertion's counter is taken.
@Reactor
package final class ProofJudge {
    /// Why there is no verdict: the answer is 503, never a verdict.
    package enum Failure: Error, Equatable {
        /// The store of device keys was not reached.
        case store(StoreError)
        /// More proofs wait than will be judged in time.
        case overloaded
    }

    /// What proofs are judged by; a new bundle counts from the next proof on.
    package private(set) var bundle: TrustBundle
    private(set) var anchors: TrustAnchors
    let keys: DeviceKeyStore
    let pool: BlockingPool
    private let openedBy: @Reactor () -> SealingRing?
    private(set) var rules: Rules
    private var waiting = 0

    /// More would wait longer than their clients do: each takes about a millisecond.
    private static let mostWaiting = 1_000

    /// What the configuration says; a reload may change it.
    package struct Rules {
        /// The environments of App Attest keys that the vouch dialect takes: `VOUCH_APP_ATTEST_ENV`.
        package let environments: Set<AppAttestEnvironment>
        /// Has Google open Play Integrity tokens.
        package let play: PlayDecoders

        /// The rules of these parts.
        package init(environments: Set<AppAttestEnvironment>, play: PlayDecoders) {
            self.environments = environments
            self.play = play
        }
    }

    /// A judge of proofs by `bundle`; `seals` says what opens now what apps keep sealed.
    package init(
        bundle: TrustBundle,
        keys: DeviceKeyStore,
        pool: BlockingPool,
        seals: @escaping @Reactor () -> SealingRing?,
        rules: Rules
    ) {
        self.bundle = bundle
        self.keys = keys
        self.pool = pool
        openedBy = seals
        self.rules = rules
        anchors = bundle.anchors
    }

    /// What opens what apps keep sealed; keys at rest may be rotated meanwhile.
    var seals: SealingRing? { openedBy() }

    /// Judges by `bundle` from now on.
    package func take(_ bundle: TrustBundle) {
        self.bundle = bundle
        anchors = bundle.anchors
    }

    /// Judges by `rules` from now on.
    package func take(_ rules: Rules) {
        self.rules = rules
    }

    /// The verdict on `proof`, made over `binding`, for `app` in `dialect`.
    package func verdict(
        on proof: Proof,
        over binding: ProofBinding,
        for app: App,
        in dialect: Dialect,
        at now: Moment
    ) async throws(Failure) -> ProofVerdict {
        guard waiting < Self.mostWaiting else { throw .overloaded }
        waiting += 1
        defer { waiting -= 1 }
        let standing = ProofStanding(app.record, dialect, binding, now)
        switch proof {
        case .appleAttestation(let keyID, let object): return try await attestation(object, keyID, standing)
        case .appleAssertion(let keyID, let object): return try await assertion(object, keyID, standing)
        case .androidKey(let chain): return await chainVerdict(chain, standing)
        case .playToken(let token): return await tokenVerdict(token, standing)
        }
    }
}
