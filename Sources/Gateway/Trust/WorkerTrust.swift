// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Store
import Telemetry
import Transport

/// A worker's part in trust: its judge of proofs, kept at what the files and the configuration say now.
///
/// Isolated to the Reactor.
@Reactor
final class WorkerTrust {
    private let judge: ProofJudge
    private let paths: StatePaths
    private let loop: EventLoop
    private let log: Log
    private let slot: MetricsSlot
    private let follower: TrustFollower

    /// Keeps `judge`, which was made by the same settings.
    init(
        _ judge: ProofJudge,
        _ settings: TrustSettings,
        _ paths: StatePaths,
        loop: EventLoop,
        log: Log,
        slot: MetricsSlot
    ) {
        self.judge = judge
        self.paths = paths
        self.loop = loop
        self.log = log
        self.slot = slot
        follower = TrustFollower(TrustFiles(settings, paths), loop: loop, pool: judge.pool) { reading in
            judge.take(reading.bundle)
        } failed: { fault in
            log.error("the trust bundle was not taken", ["reason": "\(fault)"])
        }
    }

    /// The judge of a worker that starts: it reads the files before anything is served.
    static func judge(
        _ settings: TrustSettings,
        _ paths: StatePaths,
        keys: DeviceKeyStore,
        seals: @escaping @Reactor () -> SealingRing?,
        loop: EventLoop,
        log: Log,
        slot: MetricsSlot
    ) throws(ProcessFault) -> ProofJudge {
        // Chains take a thread of their own: names and files shall not wait behind them, nor they behind those.
        let pool = BlockingPool(threads: 1)
        do {
            return ProofJudge(
                bundle: try TrustFiles(settings, paths).read().bundle,
                keys: keys,
                pool: pool,
                seals: seals,
                rules: try rules(settings, settings.webTrust(), loop: loop, log: log, slot: slot)
            )
        } catch let problem as SnapshotProblem {
            throw ProcessFault(problem.message)
        } catch {
            throw ProcessFault("the trust bundle does not read: \(error)")
        }
    }

    /// Begins to follow the files.
    func start() {
        follower.start()
    }

    /// The rules of a configuration that may be taken; its file is read on `pool`.
    func rules(_ settings: TrustSettings, on pool: BlockingPool) async throws(SnapshotProblem) -> ProofJudge.Rules {
        let trust = try await pool.run { () throws(SnapshotProblem) in try settings.webTrust() }
        return try Self.rules(settings, trust, loop: loop, log: log, slot: slot)
    }

    /// A configuration is in force.
    func took(_ settings: TrustSettings, _ rules: ProofJudge.Rules) {
        judge.take(rules)
        follower.follow(TrustFiles(settings, paths))
    }

    private static func rules(
        _ settings: TrustSettings,
        _ trust: TLSClientSettings.Trust,
        loop: EventLoop,
        log: Log,
        slot: MetricsSlot
    ) throws(SnapshotProblem) -> ProofJudge.Rules {
        ProofJudge.Rules(
            environments: settings.environments,
            play: try PlayDecoders(settings, trust, loop: loop, pool: BlockingPool(threads: 1), log: log, slot: slot)
        )
    }
}
