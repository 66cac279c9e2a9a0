// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
package import Store
package import Telemetry
package import Transport

/// What a worker knows of the registry and how it counts: its Redis connections and the caches over them.
///
/// Isolated to the Reactor; made once for each worker and kept over reloads, because Redis does not change in place.
@Reactor
package final class WorkerState {
    package let directory: AppDirectory
    package let revocations: Revocations
    /// What is under way on credentials that may end.
    package let streams: OpenStreams
    package let windows: WindowStore
    package let tokens: TokenJudge
    /// The time that tokens and development modes end by.
    package let clock: StoreClock
    /// Looks run tokens up; nil: there are none.
    package var runTokens: (any RunTokenLookup)?
    package let keyUses: KeyUseRecorder
    /// Hashes anew what is kept under an older pepper.
    package let renewal: SecretRenewal
    package let deviceKeys: DeviceKeyStore
    package let runTokenStore: RunTokenStore
    package let verdicts: VerdictStore
    /// Changes that the dialects' own management makes.
    package let registry: RegistryStore
    package let challenges: ChallengeStore
    package let caps: SignInCaps
    package let sessions: SessionBindings
    package let signInHistory: SignInHistory
    package let peppers: PepperRing
    /// Our own signing keys and those of outside issuers.
    package let keys: KeyFollower
    private let redis: RedisSettings
    private let loop: EventLoop
    private let connection: RedisConnection
    private let stream: RedisConnection
    private let lease: ServingLease
    private let feed: ChangeFeed

    /// The state of the worker named `name`, which no other live worker of any node bears.
    package init(
        name: String,
        endpoint: RedisEndpoint,
        settings: StateSettings,
        tokens: TokenSettings,
        identity: RegistryIdentity,
        peppers: PepperRing,
        loop: EventLoop,
        keys: @Reactor (RedisConnection, StoreClock) -> KeyFollower
    ) {
        redis = settings.redis
        self.loop = loop
        connection = RedisConnection(
            loop: loop,
            endpoint: endpoint,
            options: .init(name: name, deadline: settings.deadline),
            identity: identity
        )
        stream = RedisConnection(
            loop: loop,
            endpoint: endpoint,
            options: .init(name: "\(name)-changes"),
            identity: identity
        )
        lease = ServingLease(loop: loop)
        directory = AppDirectory(connection: connection, lease: lease, loop: loop)
        let clock = StoreClock(loop: loop, connection: connection)
        self.clock = clock
        revocations = Revocations(loop: loop) { clock.now }
        streams = OpenStreams(loop: loop)
        let judge = TokenJudge(settings: tokens, clock: clock, loop: loop)
        self.tokens = judge
        windows = WindowStore(connection: connection)
        keyUses = KeyUseRecorder(connection: connection, loop: loop)
        deviceKeys = DeviceKeyStore(connection: connection)
        runTokenStore = RunTokenStore(connection: connection)
        verdicts = VerdictStore(connection: connection)
        registry = RegistryStore(connection: connection, loop: loop, syncsChanges: settings.redis == .embedded)
        renewal = SecretRenewal(registry: registry, peppers: peppers)
        runTokens = RunTokens(store: runTokenStore, peppers: peppers)
        self.keys = keys(connection, clock)
        challenges = ChallengeStore(connection: connection)
        caps = SignInCaps(connection: connection)
        signInHistory = SignInHistory(connection: connection)
        sessions = SessionBindings(connection: connection, peppers: peppers)
        feed = ChangeFeed(
            loop: loop,
            stream: stream,
            connection: connection,
            worker: name,
            lease: lease,
            leaseLength: settings.serveStale,
            subscribers: [clock, revocations, directory, streams, self.keys]
        )
        self.peppers = peppers
        judge.follow(self.keys)
    }

    /// Connects and begins to follow changes; open routes are served meanwhile.
    package func start(answerTimes: Histogram, log: Log, readinessChanged: @escaping @Reactor (Bool) -> Void) {
        let absence = RedisAbsence(of: redis, loop: loop, log: log)
        absence.follow(connection)
        feed.onProblem = { log.error("the registry cannot be followed", ["reason": $0.description]) }
        connection.answerTimes = answerTimes
        connection.onReadinessChange = { isReady in
            if isReady { absence.ended() }
            readinessChanged(isReady)
        }
        connection.start()
        stream.start()
        feed.start()
        clock.start()
    }

    /// Whether requests can be judged: the lease is in force.
    package var isServing: Bool { lease.isValid }

    /// Ends the lease, so that nobody who revokes waits for this worker.
    package func stop() async {
        clock.stop()
        await feed.stop()
        connection.close()
    }
}
