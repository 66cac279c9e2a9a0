// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

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

    private let setting: Setting
    private let loop: EventLoop
    private let worker: Worker
    private let trust: WorkerTrust
    private let accessLog: AccessLog
    private let judging: Gauge
    private let link: any SupervisorLink
    private let ended: @Reactor () -> Void
    private var adopted: Set<Int> = []
    /// Reloads that were asked for and are not done, the present one first.
    private var reloads: [Int] = []
    private let pool = BlockingPool(threads: 2)
    private var seal: SecretBytes
    private lazy var ticketTimer = LoopTimer(loop: loop) { [unowned self] in rotateTickets() }
    private lazy var leaseTimer = LoopTimer(loop: loop) { [unowned self] in tick() }
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
        do {
            let sink = try LogSink(configuration.log.access.destination)
            accessLog = AccessLog(sink: sink, dropped: setting.slot.counter(GatewayMetrics.logDropped))
        } catch {
            throw ProcessFault(error.description)
        }
        let node = try KeyFiles.node(setting.paths)
        let state = WorkerState(
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
                material: keys,
                peppers: peppers,
                connection: connection,
                issuers: configuration.issuers,
                clock: clock,
                loop: loop,
                log: setting.log
            )
        }
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

    /// Begins to serve.
    func start() {
        leaseTimer.arm(after: Self.firstLeaseInterval)
        ticketTimer.arm(after: TicketKeyring.untilNext(atMilliseconds: Timestamp.now().milliseconds))
        trust.start()
        Task { @Reactor in await worker.start() }
    }

    /// Does what the supervisor says.
    func heard(_ message: ProcessMessage) {
        switch message {
        case .reload(let number): askedToReload(number)
        case .drain(let milliseconds): drain(within: .milliseconds(milliseconds))
        case .adopt(let other): adopt(other)
        case .release(let other): release(other)
        case .acceptAnyway: worker.acceptAnyway()
        case .reopenLogs: reopenLogs()
        case .serving, .waiting, .redisAnswers, .takeConfiguration, .took, .askProcesses, .checkConfiguration,
            .workerTook, .processes,
            .wantKeys:
            break
        }
    }

    /// One after another, in the order in which they were asked for.
    private func askedToReload(_ number: Int) {
        reloads.append(number)
        guard reloads.count == 1 else { return }
        Task { @Reactor in
            while let number = reloads.first {
                link.send(.took(number, fault: await reload()))
                reloads.removeFirst()
            }
        }
    }

    /// Takes the text in force; why it cannot be taken, else nil.
    ///
    /// Reading and checking it takes tens of milliseconds where there are many routes, so that is no work for the loop.
    private func reload() async -> String? {
        let accepted = setting.accepted
        do {
            let fresh = try await pool.run { () throws(ProcessFault) in try accepted.load() }
            let rules = try trust.rules(fresh.trust)
            try await worker.reload(fresh)
            worker.state.keys.follow(fresh.issuers)
            trust.took(fresh.trust, rules)
            // The file may have been rotated, or be another one now.
            try accessLog.redirect(to: fresh.log.access.destination)
            return nil
        } catch let fault as ProcessFault {
            return fault.message
        } catch let problem as SnapshotProblem {
            return problem.message
        } catch let fault as TelemetryError {
            return fault.description
        } catch {
            return "the configuration cannot be taken"
        }
    }

    private func drain(within deadline: Duration) {
        leaseTimer.cancel()
        worker.drain(deadline: deadline) { [self] in
            accessLog.finish()
            Task { @Reactor in
                // Nobody who revokes shall wait for this worker, but its end shall not wait for Redis.
                _ = await loop.value(within: .milliseconds(500)) { [worker] in await worker.state.stop() }
                ended()
            }
        }
        // The supervisor has closed its own: with the last of ours the address takes no new connections.
        for listener in setting.listeners {
            for descriptor in listener.descriptors { close(descriptor) }
        }
    }

    private func adopt(_ other: Int) {
        guard adopted.insert(other).inserted else { return }
        for (index, listener) in setting.listeners.enumerated() {
            worker.accept(on: listener.own(other), listener: index)
        }
    }

    private func release(_ other: Int) {
        guard adopted.remove(other) != nil else { return }
        for listener in setting.listeners { worker.stopAccepting(on: listener.own(other)) }
    }

    private func reopenLogs() {
        do {
            try accessLog.reopen()
        } catch {
            setting.log.error("the access log was not opened again", ["reason": error.description])
        }
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
