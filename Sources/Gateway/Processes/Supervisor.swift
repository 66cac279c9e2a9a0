// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Glibc
import Telemetry

/// Holds the sockets, starts the children and starts again what dies or hangs; parses no byte from the network.
///
/// One thread, one `poll`. It never opens a connection, reads no file after start and allocates little: what is small
/// enough does not die.
package final class Supervisor {
    let plan: SupervisorPlan
    let log: Log
    let signals: SignalPipe
    let metrics: SupervisorMetrics
    var children: [SupervisedChild]
    private let state: StateDirectory
    private let listeners: [ListenerSockets]
    private let adminListener: CInt
    private let adminNetworkListener: CInt?
    private let metricsListener: CInt?
    let environment: [String: String]
    /// Set when the gateway stops: no child is started again.
    var stopping: Stopping?
    /// A HUP that came while control was away.
    var owesCheck = false
    /// When the children's signs of life are looked at next.
    var nextLook = ContinuousClock.now + ChildPulse.interval
    /// When they were looked at, by the clock that stands still while the machine sleeps.
    var lastLook = SuspendingClock.now
    private var hasSaidReady = false
    /// The number of the last configuration that workers were told to take.
    private var lastReload = 0
    private var exitCode: CInt = 0

    /// Opens everything that could be in somebody's way; throws one clear line when it is.
    package init(
        _ plan: SupervisorPlan,
        _ configuration: Configuration,
        environment: [String: String]
    ) throws(ProcessFault) {
        self.plan = plan
        self.log = plan.log
        self.environment = environment
        self.state = try StateDirectory(plan.stateDirectory, owner: plan.account)
        try KeyFiles.makeMissing(in: state.paths, owner: plan.account)
        let accepted = AcceptedConfiguration(
            paths: state.paths,
            path: plan.configuration,
            environment: environment
        )
        try accepted.keep(configuration.text, owner: plan.account)
        if plan.redis { try RedisProcess.prepare(state.paths, owner: plan.account) }
        var listeners: [ListenerSockets] = []
        for address in plan.listeners {
            let sockets = try ListeningSockets.open(host: address.host, port: address.port, count: plan.workers)
            listeners.append(ListenerSockets(address: address.text, descriptors: sockets))
        }
        self.listeners = listeners
        if let address = plan.metrics {
            self.metricsListener = try ListeningSockets.openAlone(host: address.host, port: address.port)
        } else {
            self.metricsListener = nil
        }
        self.adminNetworkListener = try ListeningSockets.openAlone(plan.adminAddress)
        self.adminListener = try ListeningSockets.openLocal(path: plan.adminSocket, owner: plan.account)
        self.signals = try SignalPipe()
        let now = ContinuousClock.now
        var children: [SupervisedChild] = []
        do {
            let slots = try Slots(state.paths, workers: plan.workers, owner: plan.account)
            self.metrics = SupervisorMetrics(slots.supervisor)
            if plan.redis { children.append(SupervisedChild(role: .redis, slot: nil, now: now)) }
            children.append(SupervisedChild(role: .control, slot: slots.control, now: now))
            for (index, slot) in slots.workers.enumerated() {
                children.append(SupervisedChild(role: .worker(index), slot: slot, now: now))
            }
        } catch {
            throw ProcessFault(error.description)
        }
        self.children = children
    }

    /// Runs until the gateway has stopped; returns the exit code.
    package func run() -> CInt {
        let addresses = plan.listeners.map(\.text).joined(separator: " ")
        log.info("starting", ["version": Version.text, "workers": "\(plan.workers)", "listeners": addresses])
        while true {
            startWhatIsDue()
            waitForEvents()
            for number in signals.take() { arrived(number) }
            for index in children.indices { hear(index) }
            reap()
            look()
            if let stopping, isOver(stopping) { return exitCode }
        }
    }

    // MARK: Children

    private func startWhatIsDue() {
        guard stopping == nil else { return }
        let now = ContinuousClock.now
        for index in children.indices where children[index].state == .away && children[index].startAt <= now {
            start(index, now)
        }
    }

    private func start(_ index: Int, _ now: ContinuousClock.Instant) {
        let role = children[index].role
        do {
            let (ours, theirs) = try Descriptors.socketPair()
            defer { close(theirs) }
            let child = try ChildProcess.spawn(order(for: role, channel: theirs), environment: environment)
            children[index].started(as: child, ProcessChannel(descriptor: ours), at: now)
        } catch {
            log.error("a child did not start", ["role": role.name, "reason": error.message])
            children[index].startAt = now + .seconds(1)
        }
    }

    private func order(for role: ChildRole, channel: CInt) -> ChildOrder {
        var isControl = false
        var sockets: [ListenerSockets] = []
        switch role {
        case .worker: sockets = listeners
        case .control: isControl = true
        case .redis: break
        }
        return ChildOrder(
            role: role,
            supervisor: getpid(),
            configuration: plan.configuration,
            workers: plan.workers,
            stateDirectory: plan.stateDirectory,
            account: plan.account?.name,
            listeners: sockets,
            channel: channel,
            admin: isControl ? adminListener : nil,
            adminNetwork: isControl ? adminNetworkListener : nil,
            metrics: isControl ? metricsListener : nil,
            command: []
        )
    }

    private func reap() {
        var status: CInt = 0
        while true {
            let pid = unsafe waitpid(-1, &status, WNOHANG)
            guard pid > 0 else { return }
            guard let index = children.firstIndex(where: { $0.pid == pid }) else { continue }
            died(index, ChildEnd(status))
        }
    }

    private func died(_ index: Int, _ end: ChildEnd) {
        hear(index)
        let now = ContinuousClock.now
        let life = now - children[index].startedAt
        let wasEnding = children[index].state == .ending || stopping != nil
        children[index].channel.close()
        children[index].pid = 0
        children[index].isLate = false
        children[index].killAt = nil
        children[index].slot?.zeroGauges()
        guard !wasEnding else {
            children[index].state = .ended
            return
        }
        if end == .exited(ChildEnd.misconfigured), !children[index].hasServed {
            // It has said why; to start it again would say it again.
            children[index].state = .ended
            exitCode = 1
            return stop(gracefully: false)
        }
        tellTaken(by: children[index])
        let delay = children[index].policy.died(after: life)
        children[index].state = .away
        children[index].startAt = now + delay
        children[index].restarts += 1
        metrics.restarts(of: children[index].role).increment()
        log.error(
            "a child died",
            ["role": children[index].role.name, "end": end.text, "again_in": delay.text, "lived": life.text]
        )
        forgetStandIn(index)
        settleSockets()
        countServing()
    }

    // MARK: Messages

    /// Reads what a child has said.
    private func hear(_ index: Int) {
        for message in children[index].channel.receive() { heard(message, from: index) }
    }

    private func heard(_ message: ProcessMessage, from index: Int) {
        switch message {
        case .serving:
            let isBack = children[index].hasServed
            children[index].state = .serving
            children[index].hasServed = true
            children[index].isWaiting = false
            settleSockets()
            countServing()
            guard children[index].role == .control else { return }
            // It may have died between keeping a new text and having it taken: all run what is kept.
            if isBack { tellWorkers(ProcessMessage.unnumbered) }
            if owesCheck { checkConfiguration() }
        case .waiting:
            children[index].isWaiting = true
            log.warning("a worker cannot judge yet", ["role": children[index].role.name])
            letWaitingAccept()
        case .redisAnswers:
            for index in children.indices where children[index].role == .redis { children[index].answers &+= 1 }
        case .takeConfiguration(let number):
            lastReload = number
            tellWorkers(number)
        case .took(let number, let fault):
            guard case .worker(let worker) = children[index].role else { return }
            sendToControl(.workerTook(worker: worker, number, fault: fault))
        case .wantKeys:
            sendToControl(message)
        case .askProcesses:
            send(.processes(processesText()), to: children[index])
        case .checkConfiguration, .reload, .drain, .adopt, .release, .acceptAnyway, .reopenLogs, .workerTook,
            .processes:
            break
        }
    }

    /// Has all workers take the text that is kept.
    private func tellWorkers(_ number: Int) {
        for child in children where child.isWorker {
            if child.isAlive { send(.reload(number), to: child) } else { tellTaken(by: child) }
        }
    }

    /// A worker that is started again reads the text that is kept by itself: nobody needs to wait for it.
    private func tellTaken(by child: SupervisedChild) {
        guard case .worker(let worker) = child.role else { return }
        sendToControl(.workerTook(worker: worker, lastReload, fault: nil))
    }

    func send(_ message: ProcessMessage, to child: SupervisedChild) {
        child.channel.send(message)
    }

    func sendToControl(_ message: ProcessMessage) {
        for child in children where child.role == .control { send(message, to: child) }
    }

    func countServing() {
        let workers = children.filter(\.isWorker)
        let serving = workers.filter(\.isWell).count
        metrics.workersServing.set(serving)
        guard serving == workers.count, !hasSaidReady else { return }
        hasSaidReady = true
        log.info("ready", ["listeners": plan.listeners.map(\.text).joined(separator: " "), "workers": "\(serving)"])
        ServiceNotification.send("READY=1", environment: environment)
    }

    // MARK: Waiting

    private func waitForEvents() {
        var entries = [pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0)]
        for child in children where child.channel.descriptor >= 0 {
            entries.append(pollfd(fd: child.channel.descriptor, events: Int16(POLLIN), revents: 0))
        }
        _ = unsafe poll(&entries, nfds_t(entries.count), millisecondsToNext())
        // A child that closed its channel is about to be reaped; until SIGCHLD comes its end would be readable for ever.
        for entry in entries.dropFirst() where Int32(entry.revents) & (POLLHUP | POLLERR) != 0 {
            guard let index = children.firstIndex(where: { $0.channel.descriptor == entry.fd }) else { continue }
            hear(index)
            children[index].channel.close()
        }
    }

    private func millisecondsToNext() -> CInt {
        var next: ContinuousClock.Instant?
        if let stopping {
            next = stopping.nextAct
        } else {
            next = (children.filter { $0.state == .away }.map(\.startAt) + [nextLook]).min()
        }
        guard let next else { return -1 }
        let (seconds, attoseconds) = (next - ContinuousClock.now).components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return CInt(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
    }

    private func processesText() -> String {
        var writer = JSONWriter()
        writer.beginArray()
        for child in children {
            writer.beginObject()
            writer.member("name", child.role.name)
            writer.member("pid", Int(child.pid))
            writer.member("state", child.isLate ? "late" : child.state.rawValue)
            writer.member("restarts", child.restarts)
            writer.endObject()
        }
        writer.endArray()
        return writer.text
    }

    /// Closes the listening sockets, so that the last worker to close its own ends the queue.
    func closeListeners() {
        for listener in listeners {
            for descriptor in listener.descriptors { close(descriptor) }
        }
    }
}
