// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import Store
import Telemetry
package import Transport

/// One worker process: accepts, judges, forwards, records.
///
/// Isolated to the Reactor; one loop, no locks. Lives as long as its process: what it owns may hold it strongly, and
/// never weakly, because one weak reference makes every retain of it slow. It opens nothing but connections to
/// upstreams and to Redis: sockets, metrics and the log come from the supervisor.
@Reactor
package final class Worker {
    let environment: WorkerEnvironment
    let loop: EventLoop
    var snapshot: GatewaySnapshot
    let metrics: WorkerMetrics
    let state: WorkerState
    let estimates: BudgetEstimates
    let handOff: HandOff
    /// Judges native proofs.
    let proofs: ProofJudge
    /// Signs apps in, for all dialects.
    let signIn: SignInService
    private(set) lazy var pipeline = RequestPipeline(worker: self)
    var isDraining = false
    /// Whether it may accept without being able to judge.
    private var acceptsAnyway = false
    let date = DateField()
    let defences: DefenceRecorder
    var admission = ConnectionAdmission()
    let memory: MemoryGuard
    let proxyHint = UnlistedProxyHint()
    let http2 = HTTP2Recycling()
    private(set) lazy var http2Turn = HTTP2Turn(loop: loop)

    let counters: RouteMetricsTable
    let makings: SnapshotParts.Makings
    let pool: BlockingPool
    var tickets: TicketKeys
    private var decisions: DecisionSequence
    var listeners: [ClientListener] = []
    private var exhaustionTold = ToldOnce()
    private(set) var connections: [ObjectIdentifier: any ClientConnection] = [:]
    private var free: [Exchange] = []
    /// Exchanges that ended this turn: callers up the stack may still look at them.
    private var ended: [Exchange] = []
    private let turnEnd: TurnEnd
    let drainTimer: LoopTimer
    private let logTimer: LoopTimer

    /// A worker that serves `configuration`; throws what keeps it from being served.
    package init(
        _ environment: WorkerEnvironment,
        configuration: Configuration,
        state: WorkerState,
        proofs: ProofJudge,
        loop: EventLoop,
        pool: BlockingPool,
        tickets: TicketKeys,
        seed: UInt32
    ) throws(SnapshotProblem) {
        self.environment = environment
        self.loop = loop
        self.state = state
        self.handOff = HandOff(tokens: state.tokens)
        self.proofs = proofs
        self.signIn = SignInService(state: state, proofs: proofs)
        self.estimates = BudgetEstimates(
            loop: loop,
            workers: max(1, environment.listeners.first?.descriptors.count ?? 1)
        )
        self.metrics = WorkerMetrics(slot: environment.metrics)
        loop.turnTimes = environment.metrics.histogram(GatewayMetrics.loopTurns)
        self.defences = DefenceRecorder(slot: environment.metrics, log: environment.log, loop: loop)
        self.memory = MemoryGuard(loop: loop, log: environment.log, slot: environment.metrics)
        self.counters = RouteMetricsTable(slot: environment.metrics)
        self.pool = pool
        self.tickets = tickets
        self.decisions = DecisionSequence(process: seed)
        self.drainTimer = LoopTimer(loop: loop, ofProcess: true)
        self.turnEnd = TurnEnd(loop: loop)
        self.logTimer = LoopTimer(loop: loop, ofProcess: true) { environment.accessLog.flush() }
        self.makings = SnapshotParts.Makings(
            resolver: Resolver(loop: loop, pool: pool),
            loop: loop,
            slot: environment.metrics,
            counters: counters
        )
        self.snapshot = GatewaySnapshot(
            try SnapshotParts(configuration, makings),
            tls: try ListenerTLS.all(of: configuration, tickets),
            counters: counters
        )
        turnEnd.onEnd = { [unowned self] in turnEnded() }
    }

    // MARK: Life

    /// Starts the state connections, then accepts.
    package func start() async {
        state.tokens.onCheck = { [metrics] isGood in (isGood ? metrics.tokensGood : metrics.tokensBad).increment() }
        state.clock.onMeasured = { [metrics, environment] difference, isRemarkable in
            metrics.clockDifference.set(Int(difference))
            if isRemarkable {
                environment.log.warning("our clock differs from that of Redis", ["milliseconds": "\(difference)"])
            }
        }
        state.directory.onBroken = { [environment] record, reason in
            environment.log.error("an app is closed: its record cannot be used", ["record": record, "reason": reason])
        }
        state.start(answerTimes: metrics.redisDuration, log: environment.log) { [metrics] isUp in
            metrics.redisUp.set(isUp ? 1 : 0)
        }
        watchMemory()
        shareTurns()
        await becomeAbleToJudge()
        guard !isDraining else { return }
        for (index, sockets) in environment.listeners.enumerated() {
            accept(on: sockets.own(environment.index), listener: index)
        }
        environment.serving()
    }

    /// Waits until requests can be judged: meanwhile other workers accept from this one's sockets.
    ///
    /// Where no other can judge either, the supervisor has it accept as it is: open routes are served without Redis,
    /// and the others are answered 503.
    private func becomeAbleToJudge() async {
        let end = loop.now.advanced(by: Self.patience)
        var hasAsked = false
        while !isDraining, !acceptsAnyway, !state.isServing || !(state.keys.isSettled || loop.now >= end) {
            if !hasAsked, loop.now >= end {
                hasAsked = true
                environment.waiting()
            }
            do throws(CancellationError) {
                try await loop.sleep(for: .milliseconds(hasAsked ? 20 : 5))
            } catch {
                return
            }
        }
    }

    /// Has the worker accept although it cannot judge.
    package func acceptAnyway() { acceptsAnyway = true }

    /// What a fresh worker needs is read within a tenth of it; beyond that something is away.
    private static let patience: Duration = .seconds(1)

    /// Accepts from `descriptor` too: a worker that is away has left its socket (architecture §2).
    package func accept(on descriptor: CInt, listener index: Int) {
        do throws(SystemError) {
            listeners.append(try ClientListener(descriptor, index: index, worker: self))
        } catch {
            environment.log.error("listener_failed", ["error": "\(error)"])
        }
    }

    /// Connections wait in the kernel for a moment: counted each time, told once a minute.
    func noteExhausted(_ error: SystemError) {
        metrics.acceptPauses.increment()
        guard exhaustionTold.isDue("", at: loop.now) else { return }
        environment.log.error("no connection can be accepted at the moment", ["error": "\(error)"])
    }

    /// Ends what `accept` began: the worker whose socket it is serves again.
    package func stopAccepting(on descriptor: CInt) {
        for listener in listeners where listener.descriptor == descriptor { listener.close() }
        listeners.removeAll { $0.descriptor == descriptor }
    }

    // MARK: Connections

    func connectionOpened(_ connection: any ClientConnection) {
        connections[ObjectIdentifier(connection)] = connection
        if !connection.facts.isTrustedProxy { connection.facts.share = admission.opened(connection.facts.peer) }
        metrics.openConnections.add(1)
        metrics.connections.increment()
    }

    /// The handshake is done and the connection has its protocol.
    func connectionSecured(_ handshake: any ClientConnection, as connection: any ClientConnection) {
        connections[ObjectIdentifier(handshake)] = nil
        connections[ObjectIdentifier(connection)] = connection
    }

    func connectionClosed(_ connection: any ClientConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        if !connection.facts.isTrustedProxy { admission.closed(connection.facts.peer) }
        metrics.openConnections.add(-1)
        if connections.count == 0 { turnEnd.enlist() }
    }

    /// Whether one more client connection may be opened.
    var hasRoom: Bool { connections.count + admission.prefaces < snapshot.settings.connections.perWorker }

    // MARK: Exchanges

    /// An exchange from the free list, or a new one.
    func takeExchange() -> Exchange {
        let exchange = free.popLast() ?? Exchange(worker: self)
        exchange.facts.decision = decisions.next()
        return exchange
    }

    /// Takes an exchange back; it is made new when the turn ends.
    func recycle(_ exchange: Exchange) {
        if ended.isEmpty { turnEnd.enlist() }
        ended.append(exchange)
    }

    /// The access log has a line to write when the turn ends.
    func logWritten() { turnEnd.enlist() }

    private static let mostFreeExchanges = 1024

    private func turnEnded() {
        while let exchange = ended.popLast() {
            exchange.reset()
            if free.count < Self.mostFreeExchanges { free.append(exchange) }
        }
        guard environment.accessLog.turnEnded(at: loop.now), !logTimer.isArmed else { return }
        logTimer.arm(after: AccessLog.delay)
    }
}
