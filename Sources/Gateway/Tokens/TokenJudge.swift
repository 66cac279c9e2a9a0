// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
package import Store
package import Transport

/// What a worker knows of tokens: the keys that verify and sign them, and the tokens it has seen.
///
/// Isolated to the Reactor; held by `WorkerState`, so it outlives reloads. Whoever follows the key ring and
/// the key sets of outside issuers calls `replace`; whoever makes tokens asks for a `signer`. Until keys are
/// given every token is refused.
@Reactor
package final class TokenJudge {
    let loop: EventLoop
    /// Checks that wait.
    let backlog: Backlog
    let clock: StoreClock
    var settings: TokenSettings
    var application = TokenCache<VerifiedToken>(capacity: TokenJudge.capacity)
    var persons = TokenCache<VerifiedToken>(capacity: TokenJudge.capacity)
    private(set) var authority: TokenAuthority
    private var ring: SigningKeyRing?
    private var issuers: [KnownIssuer] = []
    /// When the keys of the ring change by themselves: one begins to sign, or another ends.
    private var nextChange = Int64.max
    private var verifying = 0
    private var signers: [TokenAlgorithm: TokenSigner] = [:]
    /// Hears of every check: whether the token was good.
    var onCheck: (@Reactor (Bool) -> Void)?
    /// Tokens whose check waits for its turn.
    var queue = TokenQueue()
    var budget = CheckBudget()

    /// Where keys that are missing are asked for.
    private(set) var follower: KeyFollower?
    var parking = TokenParking()

    /// Each of the two tables: 16,384 tokens of 1 KiB are 16 MiB of a worker that has seen as many callers.
    private nonisolated static let capacity = 16_384

    /// A judge without keys.
    package init(settings: TokenSettings, clock: StoreClock, loop: EventLoop) {
        self.loop = loop
        backlog = Backlog(loop: loop)
        self.clock = clock
        self.settings = settings
        authority = TokenAuthority(own: nil, issuers: [])
    }

    // MARK: Keys

    /// Takes the keys of `follower`, now and whenever they change.
    func follow(_ follower: KeyFollower) {
        self.follower = follower
        follower.ownChanged = { [unowned self] in replace(own: $0) }
        follower.issuersChanged = { [unowned self] in replace(issuers: $0) }
        replace(issuers: follower.issuers)
        replace(own: follower.own)
    }

    /// Takes up changed settings; tokens that were verified under others are verified again.
    package func configure(_ settings: TokenSettings) {
        guard settings != self.settings else { return }
        self.settings = settings
        rebuild(forgetsAll: true)
    }

    /// Takes the ring of our own keys; nil: we have none, and no token of ours is good.
    package func replace(own ring: SigningKeyRing?) {
        let kept = Set(ring?.records.map(\.id) ?? [])
        let removesKey = self.ring?.records.contains { !kept.contains($0.id) } ?? false
        self.ring = ring
        rebuild(forgetsAll: removesKey)
    }

    /// Takes the outside issuers with the keys that are held of each; an issuer without keys has an empty set.
    ///
    /// What was verified is forgotten, unless all that is new is keys: then only what was refused is, so that a
    /// rotation makes nobody wait.
    package func replace(issuers: [KnownIssuer]) {
        let onlyAdds = self.issuers.allSatisfy { old in
            issuers.contains { $0.issuer.isEqual(to: old.issuer) && $0.keys.includes(old.keys) }
        }
        self.issuers = issuers
        rebuild(forgetsAll: !onlyAdds)
    }

    /// What signs our app, session and person tokens at `now`; nil while there is no key.
    package func signer(now: Int64) -> TokenSigner? {
        signer(settings.algorithm.token, now: now) ?? signer(.es256, now: now) ?? signer(.edDSA, now: now)
    }

    /// What signs `Sallyport-Identity`: ES256, which every library of an upstream can verify.
    package func handOffSigner(now: Int64) -> TokenSigner? { signer(.es256, now: now) }

    /// The keys that others verify our tokens with at `now`, those that will sign soon included.
    package func verificationKeys(now: Int64) -> [VerificationKey] { ring?.verificationKeys(now: now) ?? [] }

    /// How long a new token of an app lives (APP-064).
    var appLife: Duration { settings.appLife }

    private func signer(_ algorithm: TokenAlgorithm, now: Int64) -> TokenSigner? {
        keepUp(with: now)
        if let known = signers[algorithm] { return known }
        let made = ring?.signer(issuer: settings.issuer, algorithm: algorithm, now: now)
        signers[algorithm] = made
        return made
    }

    /// Lets the ring's own changes of keys happen.
    @inline(__always)
    func keepUp(with now: Int64) {
        guard now >= nextChange else { return }
        rebuild(forgetsAll: verificationKeys(now: now).count != verifying, now: now)
    }

    private func rebuild(forgetsAll: Bool) { rebuild(forgetsAll: forgetsAll, now: clock.now) }

    private func rebuild(forgetsAll: Bool, now: Int64) {
        let keys = verificationKeys(now: now)
        verifying = keys.count
        let own = ring.map { _ in OwnTokenVerifier(issuer: settings.issuer, keys: VerificationKeySet(keys)) }
        authority = TokenAuthority(own: own, issuers: issuers, leeway: settings.leeway.milliseconds)
        signers = [:]
        nextChange = ring?.nextChange(after: now) ?? .max
        if forgetsAll {
            application.beginGeneration()
            persons.beginGeneration()
        } else {
            application.forgetFaults()
            persons.forgetFaults()
        }
    }
}
