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
    private let accepted: AcceptedConfiguration
    let workers: Int
    private(set) var configuration: Configuration
    private let slots: ControlSlots
    private let metrics: ControlMetrics
    private let redis: RedisConnection
    private let registry: RegistryStore
    private let link: any SupervisorLink
    private let startedAt = Timestamp.now().milliseconds
    private var takenAt: Int64
    private var refusedAt: Int64?
    private var reloads = PendingReload()
    private lazy var turns = ReloadTurns { [unowned self] in await take(from: $0) }
    private var processWaiters: [ReplyWaiter<[ProcessStatus]>] = []
    private var watch: CertificateWatch
    private var isDraining = false
    private var redisProblem: String?
    private var hasReachedRedis = false
    private lazy var adminServer = SmallHTTPServer(loop: loop) { [unowned self] in await answerAdmin($0) }
    /// The admin API on a TCP address; nil where it has none.
    private var network: AdminNetwork?
    private lazy var metricsServer = SmallHTTPServer(loop: loop) { [unowned self] in await answerMetrics($0) }
    private lazy var certificateTimer = LoopTimer(loop: loop) { [unowned self] in lookAtCertificates() }
    private lazy var redisTimer = LoopTimer(loop: loop) { [unowned self] in lookAtRedis() }
    private lazy var expiry = ExpiryWatch(loop: loop, log: log) { [unowned self] in warnings }
    private let life: ControlLife
    private let trust: TrustUpkeep
    private let routes: AdminRoutes
    private let keyring: KeyringKeeper
    private let issuers: IssuerKeyFetch

    private static let certificateInterval = Duration.seconds(10)
    private static let redisInterval = Duration.seconds(10)
    /// Longer than reading a file and its certificates takes on a busy machine.
    private static let reloadDeadline = Duration.seconds(10)

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
        self.redis = RedisConnection(loop: loop, endpoint: endpoint, options: .init(name: "control"))
        var isEmbedded = false
        if case .embedded = configuration.state.redis { isEmbedded = true }
        self.life = ControlLife(slot: slots.own, redis: isEmbedded ? redis : nil, link: link, loop: loop)
        let registry = RegistryStore(connection: redis, loop: loop, syncsChanges: isEmbedded)
        self.registry = registry
        let bridge = ControlBridge()
        let clock = { Timestamp.now().milliseconds }
        let keyring = KeyringKeeper(
            registry: registry,
            source: keys.source,
            material: keys.material,
            peppers: keys.peppers,
            node: keys.node,
            algorithm: { bridge.role?.configuration.tokens.algorithm.token ?? .es256 },
            loop: loop,
            log: log,
            now: clock
        )
        self.keyring = keyring
        let issuers = IssuerKeyFetch(registry: registry, loop: loop, slot: slots.own, log: log, now: clock)
        self.issuers = issuers
        self.routes = AdminRoutes(
            registry: registry,
            peppers: keys.peppers,
            gateway: bridge,
            keyring: keyring,
            issuers: issuers,
            configuration: { bridge.role?.configuration ?? configuration },
            now: clock
        )
        bridge.role = self
        metrics.took(configuration, at: takenAt)
    }

    /// Begins to serve the listeners.
    func start(admin: CInt, network: CInt?, metrics: CInt?) throws(ProcessFault) {
        redis.onReadinessChange = { [unowned self] isReady in
            if isReady {
                hasReachedRedis = true
                registry.relax()
            }
        }
        do {
            redis.start()
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
        keyring.start()
        trust.start()
        expiry.look()
        issuers.follow(configuration.issuers)
        issuers.start()
        life.start()
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

    // MARK: Reload

    /// Checks the file with the code of `check`; only a file without a problem reaches the workers.
    func reload() async -> ReloadOutcome {
        await turns.run(.file)
    }

    private func take(from source: ReloadTurns.Source) async -> ReloadOutcome {
        // Before the files are read: one that is replaced meanwhile is noticed at the next look.
        watch = CertificateWatch(configuration)
        let outcome = await takeText(from: source)
        switch outcome {
        case .taken(let workers):
            log.info("configuration taken", ["file": accepted.path, "workers": "\(workers)"])
            refusedAt = nil
            takenAt = Timestamp.now().milliseconds
            metrics.took(configuration, at: takenAt)
            watch.follow(configuration)
            trust.took(configuration.trust)
            expiry.look()
        case .refused(let problems), .partly(let problems):
            for problem in problems { log.error("configuration refused", ["problem": problem]) }
            refusedAt = Timestamp.now().milliseconds
            metrics.refused()
        }
        return outcome
    }

    private func takeText(from source: ReloadTurns.Source) async -> ReloadOutcome {
        let fresh: Configuration
        do {
            switch source {
            case .file: fresh = try Configuration.load(path: accepted.path, environment: accepted.environment)
            case .accepted: fresh = try accepted.load()
            }
        } catch let problems as ConfigurationProblems {
            return .refused(problems.problems.map(\.description))
        } catch let fault as ProcessFault {
            return .refused([fault.message])
        } catch {
            return .refused(["the configuration cannot be read"])
        }
        let fixed = RestartOnly.changes(from: configuration, to: fresh)
        guard fixed.isEmpty else { return .refused(fixed.map { "\(accepted.path): \($0)" }) }
        do {
            try accepted.keep(fresh.text)
        } catch {
            return .refused([error.message])
        }
        let waiter = reloads.begin(workers: workers, loop: loop)
        link.send(.takeConfiguration(reloads.number))
        guard let faults = await waiter.value(within: Self.reloadDeadline) else {
            takeBack()
            return .partly(["no answer from every worker in \(Self.reloadDeadline)"])
        }
        guard faults.isEmpty else {
            takeBack()
            return .partly(faults)
        }
        configuration = fresh
        issuers.follow(fresh.issuers)
        do {
            try network?.reload(fresh.admin)
        } catch {
            log.error("the admin listener keeps its certificate", ["reason": error.message])
        }
        return .taken(workers: workers)
    }

    /// Has those workers that took a text give it up again, so that all run one set: the old one.
    private func takeBack() {
        do {
            try accepted.keep(configuration.text)
            link.send(.takeConfiguration(ProcessMessage.unnumbered))
        } catch {
            log.error("the old configuration cannot be kept", ["reason": error.message])
        }
    }

    private func lookAtCertificates() {
        defer { certificateTimer.arm(after: Self.certificateInterval) }
        guard watch.hasChanged() else { return }
        log.info("certificate files changed")
        // What the file says meanwhile nobody has asked for.
        Task { @Reactor in _ = await turns.run(.accepted) }
    }

    // MARK: State

    func processes() async -> [ProcessStatus]? {
        let waiter = ReplyWaiter<[ProcessStatus]>(loop: loop)
        processWaiters.append(waiter)
        link.send(.askProcesses)
        return await waiter.value(within: .seconds(2))
    }

    var configurationStatus: ConfigurationStatus {
        ConfigurationStatus(
            path: accepted.path,
            redis: redisText,
            startedAt: startedAt,
            takenAt: takenAt,
            refusedAt: refusedAt
        )
    }

    func unreadyReasons() -> [String] {
        if isDraining { return ["draining"] }
        var reasons: [String] = []
        let serving = slots.workersServing()
        if serving == 0 {
            reasons.append("no worker serves")
        } else if slots.workersWithRedis() == 0 {
            reasons.append("no worker reaches Redis")
        } else if slots.workersJudging() == 0 {
            // One is enough: it accepts for those that cannot judge yet.
            reasons.append("no worker has read the registry yet")
        }
        // Only until it was there once: changes need it, requests do not.
        if !hasReachedRedis { reasons.append("control does not reach Redis yet") }
        if let problem = keyring.problem { reasons.append(problem) }
        if let redisProblem { reasons.append(redisProblem) }
        return reasons
    }

    /// What runs out, certificates of listeners included.
    var warnings: [String] {
        trust.warnings + CertificateWatch.warnings(configuration, at: Timestamp.now().milliseconds / 1_000)
    }

    var trustStatus: JSONValue { trust.status }

    private var redisText: String {
        let kind: String
        switch configuration.state.redis {
        case .embedded: kind = "embedded"
        case .server: kind = "external"
        }
        return "\(kind), \(redis.isReady ? "connected" : "not connected")"
    }

    private func lookAtRedis() {
        redisTimer.arm(after: redis.isReady ? Self.redisInterval : .milliseconds(500))
        guard redis.isReady else { return }
        Task { @Reactor in
            do throws(StoreError) {
                redisProblem = try await RedisRequirements.problem(of: redis)?.description
            } catch {
                // The connection says so itself.
                redisProblem = nil
            }
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
            return reasons.isEmpty ? .text(200, "ok\n") : .text(503, reasons.map { "\($0)\n" }.joined())
        default:
            return .text(404, "there are /metrics, /livez and /readyz\n")
        }
    }
}

/// Breaks the circle between the role and its routes.
@Reactor
private final class ControlBridge: GatewayControl {
    weak var role: ControlRole?

    func reload() async -> ReloadOutcome { await role?.reload() ?? .refused(["control is ending"]) }
    func processes() async -> [ProcessStatus]? { await role?.processes() }
    func unreadyReasons() -> [String] { role?.unreadyReasons() ?? ["control is ending"] }
    var warnings: [String] { role?.warnings ?? [] }
    var trustStatus: JSONValue { role?.trustStatus ?? .null }

    var configurationStatus: ConfigurationStatus {
        role?.configurationStatus ?? ConfigurationStatus(path: "", redis: "", startedAt: 0, takenAt: 0)
    }
}
