// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Store
import Telemetry
import Transport

/// Fetches the key sets of outside issuers for all workers of all nodes; belongs to the control process.
///
/// Isolated to the Reactor. Over verified TLS, to public addresses, without redirects, within a deadline and a size.
/// What is no key set is a failed fetch, and the last good set stays in use for a day.
@Reactor
final class IssuerKeyFetch {
    private let registry: RegistryStore
    private let loop: EventLoop
    private let log: Log
    private let slot: MetricsSlot
    private let pool: BlockingPool
    private let resolver: Resolver
    private let now: () -> Int64
    private(set) var sources: [IssuerKeys] = []
    private var allowance = FetchAllowance()
    private lazy var timer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in tick() }

    private static let interval = Duration.milliseconds(250)
    private static let deadline = Duration.seconds(10)

    init(registry: RegistryStore, loop: EventLoop, slot: MetricsSlot, log: Log, now: @escaping () -> Int64) {
        self.registry = registry
        self.loop = loop
        self.slot = slot
        self.log = log
        self.now = now
        pool = BlockingPool(threads: 1)
        resolver = Resolver(loop: loop, pool: pool)
    }

    /// Begins to fetch.
    func start() {
        timer.arm(after: Self.interval)
    }

    /// Takes the issuers of a new configuration; those that did not change go on as they are.
    func follow(_ issuers: [IssuerSettings]) {
        sources = issuers.compactMap { issuer in
            guard let address = issuer.keyAddress else { return nil }
            if let known = sources.first(where: { $0.isSame(as: issuer) }) {
                known.algorithms = issuer.algorithms
                return known
            }
            return IssuerKeys(issuer, address, startingAt: loop.now, slot: slot)
        }
    }

    /// A worker met a token of an issuer whose key is not in the set it holds, which has this digest.
    func keyMissing(of issuer: String, in held: String) {
        guard let source = sources.first(where: { $0.name == issuer }) else { return }
        source.lacking.insert(held)
        source.schedule.keyMissing(at: loop.now)
    }

    /// The keys held of an issuer, fetched or here.
    func keys(of issuer: IssuerSettings) -> VerificationKeySet {
        do throws(KeySetProblem) {
            if let local = try issuer.localKeys() { return local }
            guard let set = sources.first(where: { $0.name == issuer.name })?.set else { return VerificationKeySet([]) }
            return try JSONWebKeySet.parse(set.bytes, algorithms: issuer.algorithms)
        } catch {
            return VerificationKeySet([])
        }
    }

    private func tick() {
        timer.arm(after: Self.interval)
        for source in sources { source.show(at: now()) }
        // Who waits longest is first: the allowance may not be enough for all, and the file's order is nobody's merit.
        for source in KeySetSchedule.turns(of: sources, at: loop.now, by: \.schedule) where !source.isBusy {
            source.isBusy = true
            Task { @Reactor in
                await turn(of: source)
                source.isBusy = false
            }
        }
    }

    /// One look at an issuer: what Redis has, then a fetch if it is due.
    private func turn(of source: IssuerKeys) async {
        do throws(RegistryError) {
            try await takeKnown(source)
            if source.schedule.isDue(at: loop.now) {
                try await fetch(source)
            } else if source.schedule.isWanted(at: loop.now) {
                // All who asked hold older sets than we have: the new one is on its way, and may have the key.
                guard source.lacking.contains(SharedKeySet.digest(of: source.set)) else {
                    source.lacking = []
                    return source.schedule.answered()
                }
                guard allowance.take(at: loop.now) else { return }
                if try await mayRefetch(source) { try await fetch(source) }
            }
        } catch {
            // Redis is away: nobody could be told. The timer comes again.
            return
        }
    }

    /// Whether this node is the one that fetches for all, with the allowance that was taken; gives it back otherwise.
    private func mayRefetch(_ source: IssuerKeys) async throws(RegistryError) -> Bool {
        let (asked, mayFetch): (Set<String>, Bool)
        asked = source.lacking
        source.lacking = []
        do throws(RegistryError) {
            mayFetch = try await registry.mayRefetch(source.name, pause: KeySetSchedule.pause)
        } catch {
            allowance.giveBack()
            source.lacking.formUnion(asked)
            throw error
        }
        if !mayFetch { allowance.giveBack() }
        source.schedule.wantedFetchBegan(at: loop.now)
        // Who asked meanwhile may want more than what is fetched now.
        if !source.lacking.isEmpty { source.schedule.keyMissing(at: loop.now) }
        return mayFetch
    }

    /// Another node may have fetched, or this one before it was started again.
    private func takeKnown(_ source: IssuerKeys) async throws(RegistryError) {
        let shared = try await registry.keySet(of: source.name, from: source.address)
        guard shared != source.set else { return }
        let isFirst = source.set == nil
        guard let shared, source.take(shared) else {
            // What was fetched here did not reach Redis, or Redis has lost it: the workers would wait for it in vain.
            if let set = source.set { _ = try await registry.keep(set, of: source.name) }
            return
        }
        let age = Duration.milliseconds(max(0, now() - shared.fetchedAt))
        // At the first look a fresh set saves a fetch: a restart of many nodes is no storm.
        if isFirst, age < KeySetSchedule.shortest { source.schedule.succeeded(at: loop.now, cacheControl: nil) }
    }

    private func fetch(_ source: IssuerKeys) async throws(RegistryError) {
        let moment = now()
        let outcome: IssuerKeys.Outcome
        do throws(WebFailure) {
            let client = try await source.client(loop: loop, resolver: resolver, pool)
            let answer = try await client.answer(to: source.request, within: Self.deadline)
            outcome = source.judge(answer, at: moment)
            source.schedule.note(outcome, at: loop.now, cacheControl: answer.cacheControl)
        } catch {
            outcome = .init(error)
            source.schedule.failed(at: loop.now)
        }
        source.count(outcome)
        source.show(at: moment)
        if let problem = outcome.problem {
            log.warning(
                "a key set was not fetched",
                ["issuer": source.name, "reason": problem, "keys_age": source.age(at: moment)]
            )
            return
        }
        guard let set = source.set else { return }
        if try await registry.keep(set, of: source.name) {
            log.info("key set changed", ["issuer": source.name, "keys": "\(source.keyCount)"])
        }
    }
}

extension KeySetSchedule {
    /// Takes what came of a fetch.
    mutating func note(_ outcome: IssuerKeys.Outcome, at now: MonotonicInstant, cacheControl: String?) {
        if outcome.problem == nil {
            succeeded(at: now, cacheControl: cacheControl)
        } else {
            failed(at: now)
        }
    }
}
