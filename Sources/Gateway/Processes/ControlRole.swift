// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Glibc
import Store
import Telemetry
import Transport

/// The control role: the admin and metrics listeners, reloads, and the sums over all processes.
///
/// Isolated to the Reactor.
@Reactor
final class ControlRole: GatewayControl {
    let loop: EventLoop
    let log: Log
    let accepted: AcceptedConfiguration
    let workers: Int
    var configuration: Configuration
    let slots: ControlSlots
    let metrics: ControlMetrics
    let redis: RedisConnection
    let registry: RegistryStore
    private let clock: StoreClock
    let link: any SupervisorLink
    let startedAt = Timestamp.now().milliseconds
    var takenAt: Int64
    var refusedAt: Int64?
    var reloads = PendingReload()
    lazy var turns = ReloadTurns { [unowned self] in await take(from: $0) }
    var processWaiters: [ReplyWaiter<[ProcessStatus]>] = []
    var watch: CertificateWatch
    var isDraining = false
    var redisProblem: String?
    /// That Redis takes nothing more; what is remembered serves on for the rest of the leases.
    var redisFullness: String?
    var hasReachedRedis = false
    private lazy var adminServer = SmallHTTPServer(loop: loop, refusal: AdminProblem.unread) { [unowned self] in
        await answerAdmin($0)
    }
    /// The admin API on a TCP address; nil where it has none.
    var network: AdminNetwork?
    private lazy var metricsServer = SmallHTTPServer(
        loop: loop,
        // A probe that is kept out would take the node out of service.
        limits: Self.metricsLimits
    ) { [unowned self] in await answerMetrics($0) }
    lazy var certificateTimer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in lookAtCertificates() }
    lazy var redisTimer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in lookAtRedis() }
    lazy var expiry = ExpiryWatch(loop: loop, log: log) { [unowned self] in ending }
    private let life: ControlLife
    private let absence: RedisAbsence
    let registryWatch: RegistryWatch
    let trust: TrustUpkeep
    /// For the operator's file and what it names.
    let pool = BlockingPool(threads: 1)
    private let routes: AdminRoutes
    let keyring: KeyringKeeper
    let issuers: IssuerKeyFetch

    /// Scrapes come every 15 to 60 s, and idle connections give way to others.
    private static var metricsLimits: SmallHTTPServer.Limits {
        var limits = SmallHTTPServer.Limits.network(connections: 64, perNetwork: 16)
        limits.idleDeadline = .seconds(75)
        return limits
    }

    static let certificateInterval = Duration.seconds(10)
    static let redisInterval = Duration.seconds(10)
    /// Longer than reading a file and its certificates takes on a busy machine.
    static let reloadDeadline = Duration.seconds(10)

    init(
        _ configuration: Configuration,
        accepted: AcceptedConfiguration,
        workers: Int,
        slots: ControlSlots,
        endpoint: RedisEndpoint,
        keys: ControlKeys,
        trust: TrustUpkeep,
        link: any SupervisorLink,
        loop: EventLoop,
        log: Log
    ) {
        self.configuration = configuration
        self.accepted = accepted
        self.workers = workers
        self.slots = slots
        self.metrics = ControlMetrics(slots.own)
        self.link = link
        self.loop = loop
        self.log = log
        self.takenAt = startedAt
        self.watch = CertificateWatch(configuration)
        self.trust = trust
        let file = RegistryFile(accepted.paths)
        let identity = file.identity()
        let redis = RedisConnection(loop: loop, endpoint: endpoint, options: .init(name: "control"), identity: identity)
        self.redis = redis
        var isEmbedded = false
        if case .embedded = configuration.state.redis { isEmbedded = true }
        self.absence = RedisAbsence(of: configuration.state.redis, loop: loop, log: log)
        self.life = ControlLife(slot: slots.own, redis: isEmbedded ? redis : nil, link: link, loop: loop)
        let registry = RegistryStore(connection: redis, loop: loop, syncsChanges: isEmbedded)
        self.registry = registry
        let bridge = ControlBridge()
        let clock = StoreClock(loop: loop, connection: redis)
        self.clock = clock
        let keyring = KeyringKeeper(
            registry: registry,
            source: keys.source,
            material: keys.material,
            peppers: keys.peppers,
            node: keys.node,
            algorithm: { bridge.role?.configuration.tokens.algorithm.token ?? .es256 },
            loop: loop,
            log: log,
            now: { clock.now }
        )
        self.keyring = keyring
        let issuers = IssuerKeyFetch(registry: registry, loop: loop, slot: slots.own, log: log, now: { clock.now })
        self.issuers = issuers
        self.routes = AdminRoutes(
            registry: registry,
            peppers: keys.peppers,
            gateway: bridge,
            keyring: keyring,
            issuers: issuers,
            configuration: { bridge.role?.configuration ?? configuration },
            clock: clock
        )
        self.registryWatch = RegistryWatch(
            registry: registry,
            redis: redis,
            identity: identity,
            file: file,
            configuration: { bridge.role?.configuration ?? configuration },
            now: { clock.now },
            slot: slots.own,
            loop: loop,
            log: log
        )
        bridge.role = self
        metrics.took(configuration, at: takenAt)
    }

    /// Begins to serve the listeners.
    func start(admin: CInt, network: CInt?, metrics: CInt?) throws(ProcessFault) {
        redis.onReadinessChange = { [unowned self] isReady in
            if isReady {
                absence.ended()
                hasReachedRedis = true
                registry.relax()
            }
        }
        absence.follow(redis)
        // Before anything that may take long: while it starts it is watched, and Redis by its word.
        life.start()
        do {
            redis.start()
            // Keys that are made before the store's time is known could begin in the future.
            clock.onMeasured = { [unowned self] _, _ in
                clock.onMeasured = nil
                keyring.start()
                issuers.start()
            }
            clock.start()
            try adminServer.start(adopting: admin)
            if let network {
                self.network = try AdminNetwork(configuration.admin, loop: loop, routes: routes)
                try self.network?.start(adopting: network)
            }
            if let metrics { try metricsServer.start(adopting: metrics) }
        } catch {
            throw ProcessFault("control cannot listen: \(error)")
        }
        certificateTimer.arm(after: Self.certificateInterval)
        redisTimer.arm(after: .milliseconds(200))
        registryWatch.start()
        trust.start()
        expiry.look()
        issuers.follow(configuration.issuers)
        link.send(.serving)
    }

    // MARK: Messages

    func heard(_ message: ProcessMessage) {
        switch message {
        case .checkConfiguration:
            Task { @Reactor in _ = await reload() }
        case .workerTook(let worker, let number, let fault):
            reloads.took(worker: worker, number, fault: fault)
        case .processes(let json):
            let processes = ProcessStatus.list(json, connections: slots.connections())
            for waiter in processWaiters { waiter.finish(processes) }
            processWaiters = []
        case .drain:
            isDraining = true
        case .wantKeys(let issuer, let held):
            issuers.keyMissing(of: issuer, in: held)
        case .serving, .waiting, .redisAnswers, .takeConfiguration, .took, .askProcesses, .reload, .adopt, .release,
            .acceptAnyway, .reopenLogs:
            break
        }
    }

    // MARK: Listeners

    private func answerAdmin(_ request: SmallRequest) async -> SmallAnswer {
        switch AdminRequest.read(request) {
        case .success(let request): await routes.answer(request).small
        case .failure(let problem): problem.answer.small
        }
    }

    private func answerMetrics(_ request: SmallRequest) async -> SmallAnswer {
        guard request.method == "GET" || request.method == "HEAD" else { return .text(405, "GET only\n") }
        switch request.path {
        case "/metrics":
            let text = slots.exposition()
            return SmallAnswer(status: 200, contentType: "text/plain; version=0.0.4", body: Array(text.utf8))
        case "/livez":
            return .text(200, "ok\n")
        case "/readyz":
            let reasons = unreadyReasons()
            // One worker is enough to be sent requests: what is wrong with another is said, and costs no node.
            return reasons.isEmpty
                ? .text(200, (["ok"] + unable).map { "\($0)\n" }.joined())
                : .text(503, reasons.map { "\($0)\n" }.joined())
        default:
            return .text(404, "there are /metrics, /livez and /readyz\n")
        }
    }
}
