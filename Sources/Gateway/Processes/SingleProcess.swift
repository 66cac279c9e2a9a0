// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Telemetry
import Transport

/// All roles in one process, for debuggers and sanitizers: only the embedded Redis is a process of its own.
enum SingleProcess {
    /// Runs until a signal ends it.
    static func run(
        _ plan: SupervisorPlan,
        _ configuration: Configuration,
        _ environment: [String: String]
    ) throws(ProcessFault) {
        if let account = plan.account { try account.become() }
        let state = try StateDirectory(plan.stateDirectory, owner: nil)
        try KeyFiles.makeMissing(in: state.paths, owner: nil)
        let accepted = AcceptedConfiguration(
            paths: state.paths,
            path: plan.configuration,
            environment: environment
        )
        try accepted.keep(configuration.text)
        let sockets = try SingleSockets(plan)
        var redis: pid_t = 0
        if plan.redis {
            try RedisProcess.prepare(state.paths, owner: nil)
            redis = try startRedis(plan, environment)
        }
        let slots: ControlSlots
        let setting: WorkerRole.Setting
        do {
            let all = try Slots(state.paths, workers: 1, owner: nil)
            all.supervisor.gauge(GatewayMetrics.workersServing).set(1)
            slots = try ControlSlots(state.paths, workers: 1)
            setting = WorkerRole.Setting(
                index: 0,
                configuration: configuration,
                accepted: accepted,
                listeners: sockets.listeners,
                paths: state.paths,
                slot: all.workers[0],
                log: plan.log
            )
        } catch {
            throw ProcessFault(error.description)
        }
        let parts = SingleParts(plan: plan, setting: setting, slots: slots, sockets: sockets)
        let fault = serve(parts)
        if redis > 0 {
            kill(redis, SIGTERM)
            var status: CInt = 0
            _ = unsafe waitpid(redis, &status, 0)
        }
        if let fault { throw fault }
    }

    private static func serve(_ parts: SingleParts) -> ProcessFault? {
        Reactor.installGlobalHook()
        var fault: ProcessFault?
        Reactor.run { loop in
            do throws(ProcessFault) {
                let link = LocalLink()
                let worker = try WorkerRole(parts.setting, loop: loop, link: link) { loop.stop() }
                let control = try parts.control(loop: loop, link: link)
                link.worker = worker
                link.control = control
                let signals = try Self.signals(loop)
                do throws(SystemError) {
                    try signals.start { link.arrived($0, drain: parts.plan.drain, loop: loop) }
                } catch {
                    throw ProcessFault("signals cannot be received: \(error)")
                }
                link.signals = signals
                worker.start()
                try control.start(
                    admin: parts.sockets.admin,
                    network: parts.sockets.adminNetwork,
                    metrics: parts.sockets.metrics
                )
                Places.letGo()
            } catch {
                fault = error
                loop.stop()
            }
        }
        return fault
    }

    @Reactor
    private static func signals(_ loop: EventLoop) throws(ProcessFault) -> SignalSource {
        do {
            return try SignalSource(loop: loop, signals: [SIGHUP, SIGINT, SIGTERM, SIGUSR1])
        } catch {
            throw ProcessFault("signals cannot be received: \(error)")
        }
    }

    private static func startRedis(
        _ plan: SupervisorPlan,
        _ environment: [String: String]
    ) throws(ProcessFault) -> pid_t {
        let (_, theirs) = try Descriptors.socketPair()
        let order = ChildOrder(
            role: .redis,
            supervisor: getpid(),
            configuration: plan.configuration,
            workers: 1,
            stateDirectory: plan.stateDirectory,
            account: nil,
            listeners: [],
            channel: theirs
        )
        return try ChildProcess.spawn(order, environment: environment)
    }
}

/// The sockets of a single process.
struct SingleSockets {
    let listeners: [ListenerSockets]
    let admin: CInt
    let adminNetwork: CInt?
    let metrics: CInt?

    init(_ plan: SupervisorPlan) throws(ProcessFault) {
        var listeners: [ListenerSockets] = []
        for address in plan.listeners {
            let sockets = try ListeningSockets.open(host: address.host, port: address.port, count: 1)
            listeners.append(ListenerSockets(address: address.text, descriptors: sockets))
        }
        self.listeners = listeners
        self.adminNetwork = try ListeningSockets.openAlone(plan.adminAddress)
        self.admin = try ListeningSockets.openLocal(path: plan.adminSocket, owner: nil)
        if let address = plan.metrics {
            self.metrics = try ListeningSockets.openAlone(host: address.host, port: address.port)
        } else {
            self.metrics = nil
        }
    }
}

/// What both roles of a single process are made of.
private struct SingleParts {
    let plan: SupervisorPlan
    let setting: WorkerRole.Setting
    let slots: ControlSlots
    let sockets: SingleSockets

    @Reactor
    func control(loop: EventLoop, link: any SupervisorLink) throws(ProcessFault) -> ControlRole {
        let configuration = setting.configuration
        return ControlRole(
            configuration,
            accepted: setting.accepted,
            workers: 1,
            slots: slots,
            endpoint: try .configured(configuration.state, setting.paths),
            keys: try ControlKeys(setting.paths, configuration.secrets),
            trust: try .of(configuration.trust, setting.paths, slot: slots.own, loop: loop, log: plan.log),
            link: link,
            loop: loop,
            log: plan.log
        )
    }
}

/// Carries messages between the roles of a single process, and answers for the supervisor that is not there.
@Reactor
private final class LocalLink: SupervisorLink {
    var worker: WorkerRole?
    var control: ControlRole?
    var signals: SignalSource?
    private var isDraining = false

    func send(_ message: ProcessMessage) {
        // Later, not inside the sender's call: a process boundary would not answer at once either.
        Task { @Reactor in deliver(message) }
    }

    func arrived(_ signal: CInt, drain: Duration, loop: EventLoop) {
        switch signal {
        case SIGHUP: control?.heard(.checkConfiguration)
        case SIGUSR1: worker?.heard(.reopenLogs)
        case SIGTERM where !isDraining:
            isDraining = true
            let milliseconds = Int(drain.nanosecondsClamped / 1_000_000)
            control?.heard(.drain(milliseconds: milliseconds))
            worker?.heard(.drain(milliseconds: milliseconds))
        case SIGINT: loop.stop()
        default: break
        }
    }

    private func deliver(_ message: ProcessMessage) {
        switch message {
        case .takeConfiguration(let number): worker?.heard(.reload(number))
        case .took(let number, let fault): control?.heard(.workerTook(worker: 0, number, fault: fault))
        case .wantKeys: control?.heard(message)
        case .askProcesses:
            control?.heard(
                .processes("[{\"name\":\"worker 0\",\"pid\":\(getpid()),\"state\":\"serving\",\"restarts\":0}]")
            )
        case .waiting: worker?.heard(.acceptAnyway)
        case .serving, .redisAnswers, .checkConfiguration, .reload, .drain, .adopt, .release, .acceptAnyway,
            .reopenLogs, .workerTook, .processes:
            break
        }
    }
}
