// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Crypto
import Glibc
import Store
import Telemetry
import Transport

/// The worker role: the worker itself, and what the supervisor tells it.
///
/// Isolated to the Reactor.
@Reactor
final class WorkerRole {
    /// What a role is given by its process.
    struct Setting {
        let index: Int
        let configuration: Configuration
        /// The text in force, which a reload reads again.
        let accepted: AcceptedConfiguration
        let listeners: [ListenerSockets]
        let paths: StatePaths
        let slot: MetricsSlot
        let log: Log
    }

    let setting: Setting
    let loop: EventLoop
    let worker: Worker
    let trust: WorkerTrust
    let accessLog: AccessLog
    private let judging: Gauge
    let link: any SupervisorLink
    let ended: @Reactor () -> Void
    var adopted: Set<Int> = []
    /// Reloads that were asked for and are not done, the present one first.
    var reloads: [Int] = []
    let pool = BlockingPool(threads: 2)
    private var seal: SecretBytes
    private lazy var ticketTimer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in rotateTickets() }
    lazy var leaseTimer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in tick() }
    private let openConnections: Gauge
    private var mostConnections = 0

    private static let leaseInterval = Duration.seconds(1)
    private static let firstLeaseInterval = Duration.milliseconds(20)

    /// Makes the worker; `ended` is called when it has drained.
    init(
        _ setting: Setting,
        loop: EventLoop,
        link: any SupervisorLink,
        ended: @escaping @Reactor () -> Void
    ) throws(ProcessFault) {
        // A connection to an upstream for each of a client, and some for ourselves.
        Descriptors.reserve(2 * setting.configuration.connections.perWorker + 256)
        self.setting = setting
        self.loop = loop
        self.link = link
        self.ended = ended
        self.openConnections = setting.slot.gauge(GatewayMetrics.openConnections)
        self.judging = setting.slot.gauge(GatewayMetrics.workersJudging)
        let configuration = setting.configuration
        let source = KeySource(setting.paths, configuration.secrets)
        let keys = try source.load()
        let peppers = try keys.ring()
        accessLog = try Self.accessLog(setting)
        let node = try KeyFiles.node(setting.paths)
        let state = try Self.state(setting, node: node, source: source, material: keys, peppers: peppers, loop: loop)
        let now = Timestamp.now().milliseconds
        guard let seal = keys.seals.first?.key, let tickets = TicketKeyring.keys(seal, atMilliseconds: now) else {
            throw ProcessFault("there is no sealing key")
        }
        self.seal = seal
        let proofs = try WorkerTrust.judge(
            configuration.trust,
            setting.paths,
            keys: state.deviceKeys,
            seals: { [keys = state.keys] in keys.sealing },
            loop: loop,
            log: setting.log,
            slot: setting.slot
        )
        let environment = WorkerEnvironment(
            index: setting.index,
            listeners: setting.listeners,
            metrics: setting.slot,
            accessLog: accessLog,
            log: setting.log,
            pseudonym: ViaPseudonym(node: node),
            serving: { link.send(.serving) },
            waiting: { link.send(.waiting) }
        )
        do {
            worker = try Worker(
                environment,
                configuration: configuration,
                state: state,
                proofs: proofs,
                loop: loop,
                pool: pool,
                tickets: tickets,
                seed: UInt32.random(in: .min ... .max)
            )
        } catch {
            throw ProcessFault(error.message)
        }
        trust = WorkerTrust(
            proofs,
            configuration.trust,
            setting.paths,
            loop: loop,
            log: setting.log,
            slot: setting.slot
        )
        state.keys.wantKeys = { link.send(.wantKeys(issuer: $0, held: $1)) }
        state.keys.sealChanged = { [unowned self] in tookSeal($0) }
    }

    private static func accessLog(_ setting: Setting) throws(ProcessFault) -> AccessLog {
        do {
            let sink = try LogSink(setting.configuration.log.access.destination)
            return AccessLog(sink: sink, dropped: setting.slot.counter(GatewayMetrics.logDropped))
        } catch {
            throw ProcessFault(error.description)
        }
    }

    private static func state(
        _ setting: Setting,
        node: String,
        source: KeySource,
        material: KeyMaterial,
        peppers: PepperRing,
        loop: EventLoop
    ) throws(ProcessFault) -> WorkerState {
        let configuration = setting.configuration
        return WorkerState(
            name: "\(node)-worker-\(setting.index)",
            endpoint: try RedisEndpoint.configured(configuration.state, setting.paths),
            settings: configuration.state,
            tokens: configuration.tokens,
            identity: RegistryFile(setting.paths).identity(),
            peppers: peppers,
            loop: loop
        ) { connection, clock in
            KeyFollower(
                source: source,
                material: material,
                peppers: peppers,
                connection: connection,
                issuers: configuration.issuers,
                clock: clock,
                loop: loop,
                // Names that nobody resolves just now hold up no keys.
                pool: BlockingPool(threads: 1),
                log: setting.log
            )
        }
    }

    /// Begins to serve.
    func start() {
        leaseTimer.arm(after: Self.firstLeaseInterval)
        ticketTimer.arm(after: TicketKeyring.untilNext(atMilliseconds: Timestamp.now().milliseconds))
        trust.start()
        Task { @Reactor in await worker.start() }
    }

    /// Another sealing key is in use: tickets are sealed with it on every node.
    private func tookSeal(_ seal: SecretBytes) {
        self.seal = seal
        rotateTickets()
    }

    private func rotateTickets() {
        let now = Timestamp.now().milliseconds
        if let tickets = TicketKeyring.keys(seal, atMilliseconds: now) { worker.rotate(tickets) }
        ticketTimer.arm(after: TicketKeyring.untilNext(atMilliseconds: now))
    }

    /// Once a second: what no event would do.
    private func tick() {
        setting.slot.beat()
        let isServing = worker.state.isServing
        judging.set(isServing ? 1 : 0)
        // What a full pipe did not take goes out although no request follows.
        accessLog.flush()
        leaseTimer.arm(after: isServing && !accessLog.hasBacklog ? Self.leaseInterval : Self.firstLeaseInterval)
        trimAfterPeak()
    }

    /// Gives memory back once half of many connections have closed; it takes some milliseconds, so not for few.
    private func trimAfterPeak() {
        let open = openConnections.value
        mostConnections = max(mostConnections, open)
        guard mostConnections >= 200, open <= mostConnections / 2 else { return }
        mostConnections = open
        ThisProcess.trimHeap()
    }
}

extension LogTarget {
    /// Where the lines go.
    var destination: LogSink.Destination {
        switch self {
        case .standardOutput: .standardOutput
        case .file(let path): .file(path)
        case .off: .none
        }
    }
}
