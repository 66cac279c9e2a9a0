// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
package import Crypto
package import Store
package import Telemetry
package import Transport

/// The keys that a worker judges and signs tokens with, as all nodes share them.
///
/// Isolated to the Reactor. Read completely before the worker serves, then kept by the change stream: the ring of our
/// own signing keys, which keys at rest are in use, and the key sets of outside issuers. What cannot be read again
/// stays as it was: an issuer that is away, or a Redis that is, never turns a good token bad while its keys are held.
@Reactor
package final class KeyFollower {
    /// The ring of our own keys; nil before it was made, or while this node cannot open it.
    package internal(set) var own: SigningKeyRing?
    /// The outside issuers with their keys; those without any have an empty set.
    package private(set) var issuers: [KnownIssuer] = []
    /// Why our own keys cannot be used here; nil while they can.
    package internal(set) var problem: String?
    /// Whether it is known what our own keys are, or why there are none.
    package var isSettled: Bool { own != nil || problem != nil }
    /// Called when `own` changed, and when another of its keys begins or ends to count.
    package var ownChanged: @Reactor (SigningKeyRing?) -> Void = { _ in }
    /// Called when `issuers` changed.
    package var issuersChanged: @Reactor ([KnownIssuer]) -> Void = { _ in }
    /// Called when another sealing key is in use.
    package var sealChanged: @Reactor (SecretBytes) -> Void = { _ in }
    /// Asks the control process to fetch the key set of an issuer in place of the one that is held, by its digest.
    package var wantKeys: @Reactor (String, String) -> Void = { _, _ in }

    let loop: EventLoop
    private let clock: StoreClock
    let source: KeySource
    var material: KeyMaterial
    let peppers: PepperRing
    private let connection: RedisConnection
    let log: Log
    /// Reads key sets: one of 250 keys takes milliseconds.
    private let pool: BlockingPool
    var keyring = KeyringDocument()
    var signing = SigningDocument()
    var settings: [IssuerSettings]
    private var local: [String: VerificationKeySet] = [:]
    private var fetched: [String: FetchedKeys] = [:]
    /// When each issuer's keys were asked for last, and which set was held then.
    private var asked: [String: (held: String, at: MonotonicInstant)] = [:]
    private var waiting: [KeyWaiter] = []
    private lazy var timer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in timePassed() }
    lazy var reader = KeyReader(connection: connection, loop: loop, log: log) { [unowned self] in
        await take($0)
    }

    /// Between two requests of this worker for other keys than those of one set.
    private static let pause = Duration.seconds(1)

    package init(
        source: KeySource,
        material: KeyMaterial,
        peppers: PepperRing,
        connection: RedisConnection,
        issuers: [IssuerSettings],
        clock: StoreClock,
        loop: EventLoop,
        pool: BlockingPool,
        log: Log
    ) {
        self.source = source
        self.material = material
        self.peppers = peppers
        self.connection = connection
        self.settings = issuers
        self.clock = clock
        self.loop = loop
        self.pool = pool
        self.log = log
        for issuer in issuers { keepLocal(issuer, Self.localKeys(of: issuer)) }
        publishIssuers()
    }

    /// What opens and seals what Redis keeps; nil where no sealing key can be used.
    package var sealing: SealingRing? {
        do {
            return try material.sealingRing(current: keyring.seal)
        } catch {
            return nil
        }
    }

    /// Takes the issuers of a new configuration: the sets of those that stay are kept.
    package func follow(_ issuers: [IssuerSettings]) async {
        var read: [Result<VerificationKeySet?, KeySetProblem>] = []
        for issuer in issuers { read.append(await pool.run { Self.localKeys(of: issuer) }) }
        for (issuer, keys) in zip(issuers, read) { keepLocal(issuer, keys) }
        let former = settings
        settings = issuers
        fetched = fetched.filter { name, keys in
            issuers.contains { $0.name == name && $0.keyAddress == keys.set.source }
        }
        // Where other algorithms may be taken now the set is another one.
        for issuer in issuers where former.first(where: { $0.name == issuer.name })?.algorithms != issuer.algorithms {
            fetched[issuer.name] = fetched[issuer.name].flatMap { Self.parsed($0.set, issuer) }
        }
        publishIssuers()
        for issuer in issuers where issuer.keyAddress != nil {
            reader.read(.issuer(issuer.name, issuer.keyAddress ?? ""))
        }
    }

    /// A token named a key of this issuer that is not held: its set is fetched anew, within the bounds of control.
    package func keyMissing(of issuer: String) {
        guard settings.contains(where: { $0.name == issuer && $0.keyAddress != nil }) else { return }
        let held = SharedKeySet.digest(of: fetched[issuer]?.set)
        if let last = asked[issuer], last.held == held, loop.now < last.at.advanced(by: Self.pause) { return }
        asked[issuer] = (held, loop.now)
        wantKeys(issuer, held)
    }

    /// Asks for the keys of `issuer` and waits until others are there; false where none came in time.
    package func newKeys(of issuer: String, within deadline: Duration) async -> Bool {
        keyMissing(of: issuer)
        let waiter = KeyWaiter(issuer: issuer, loop: loop)
        waiting.append(waiter)
        let came = await waiter.reply.value(within: deadline) ?? false
        waiting.removeAll { $0 === waiter }
        return came
    }

    // MARK: - What was read

    func take(_ value: KeyReader.Value) async {
        switch value {
        case .keyring(let document): take(document)
        case .signing(let document): take(document)
        case .issuer(let name, let set): await take(set, of: name)
        }
    }

    private func take(_ document: KeyringDocument) {
        let former = keyring
        keyring = document
        guard former != document else { return }
        readMaterial()
        openOwn()
        if former.seal != document.seal, let seal = material.seal(current: document.seal) { sealChanged(seal) }
    }

    private func take(_ document: SigningDocument) {
        guard document != signing || own == nil else { return }
        signing = document
        openOwn()
    }

    private func take(_ set: SharedKeySet?, of name: String) async {
        let held = fetched[name]
        // Gone from Redis: the set that is held counts to its own end.
        guard let set, set != held?.set, let issuer = settings.first(where: { $0.name == name }) else { return }
        let isOther = held?.set.bytes != set.bytes
        let keys: FetchedKeys?
        if let held, !isOther, held.set.source == set.source {
            keys = FetchedKeys(set: set, keys: held.keys)
        } else {
            keys = await pool.run { Self.parsed(set, issuer) }
        }
        // While it was read a later one may have come, or other settings, with which all are read again.
        if let present = fetched[name]?.set, present != held?.set, present.fetchedAt >= set.fetchedAt { return }
        guard settings.contains(where: { $0.hasSameKeys(as: issuer) }) else { return }
        guard let keys else { return log.error("a key set in Redis cannot be read", ["issuer": name]) }
        fetched[name] = keys
        armTimer()
        guard isOther else { return }
        publishIssuers()
        for waiter in waiting where waiter.issuer == name { waiter.reply.finish(true) }
    }

    private nonisolated static func parsed(_ set: SharedKeySet, _ issuer: IssuerSettings) -> FetchedKeys? {
        guard issuer.keyAddress == set.source else { return nil }
        do {
            return FetchedKeys(set: set, keys: try JSONWebKeySet.parse(set.bytes, algorithms: issuer.algorithms))
        } catch {
            return nil
        }
    }

    private nonisolated static func localKeys(of issuer: IssuerSettings) -> Result<VerificationKeySet?, KeySetProblem> {
        Result { () throws(KeySetProblem) in try issuer.localKeys() }
    }

    private func keepLocal(_ issuer: IssuerSettings, _ read: Result<VerificationKeySet?, KeySetProblem>) {
        guard issuer.keyAddress == nil else { return }
        switch read {
        case .success(let keys): local[issuer.name] = keys
        case .failure(let problem):
            // A file that is damaged between the check and now: the keys that are held stay.
            log.error("a key set cannot be read", ["issuer": issuer.name, "reason": problem.rawValue])
        }
    }

    // MARK: - Time

    private func timePassed() {
        let now = clock.now
        let ended = fetched.filter { $0.value.end <= now }.map(\.key)
        for name in ended {
            log.error("the keys of an issuer are a day old and count no longer", ["issuer": name])
            fetched[name] = nil
        }
        if !ended.isEmpty { publishIssuers() }
        ownChanged(own)
        // A set may have been confirmed since: the fetch that found no other key says nothing in the stream.
        for (name, keys) in fetched where keys.end <= now + SharedKeySet.life / 2 {
            reader.read(.issuer(name, keys.set.source))
        }
        armTimer()
    }

    func armTimer() {
        let now = clock.now
        var moments = signing.keys.flatMap { [$0.signsFrom, $0.verifiesUntil ?? now] }
        for keys in fetched.values { moments += [keys.end, keys.end - SharedKeySet.life / 2, keys.end - 3_600_000] }
        guard let next = moments.filter({ $0 > now }).min() else { return timer.cancel() }
        // Not to the very moment of others' clocks, and never long: clocks are set.
        timer.arm(after: .milliseconds(min(next - now + 1, 600_000)))
    }

    private func publishIssuers() {
        issuers = settings.map { issuer in
            let keys = issuer.keyAddress == nil ? local[issuer.name] : fetched[issuer.name]?.keys
            return (issuer.outside, keys ?? VerificationKeySet([]))
        }
        issuersChanged(issuers)
    }
}
