// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

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
    let listeners: [ListenerSockets]
    let adminListener: CInt
    let adminNetworkListener: CInt?
    let metricsListener: CInt?
    let environment: [String: String]
    /// Set when the gateway stops: no child is started again.
    var stopping: Stopping?
    /// A HUP that came while control was away.
    var owesCheck = false
    /// When the children's signs of life are looked at next.
    var nextLook = ContinuousClock.now + ChildPulse.interval
    /// When they were looked at, by the clock that stands still while the machine sleeps.
    var lastLook = SuspendingClock.now
    var hasSaidReady = false
    /// The number of the last configuration that workers were told to take.
    var lastReload = 0
    var exitCode: CInt = 0

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
        if let lack = ChildProcess.lackOfReports(environment) {
            log.warning("a process that traps or hangs will not say where", ["why": lack])
        }
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

    // MARK: Waiting

    private func waitForEvents() {
        var entries = [pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0)]
        for child in children where child.channel.descriptor >= 0 {
            entries.append(pollfd(fd: child.channel.descriptor, events: Int16(POLLIN), revents: 0))
        }
        _ = unsafe poll(&entries, nfds_t(entries.count), millisecondsToNext())
        // A child that closed its channel is about to be reaped; until SIGCHLD comes its end
        // would be readable for ever.
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

    /// Closes the listening sockets, so that the last worker to close its own ends the queue.
    func closeListeners() {
        for listener in listeners {
            for descriptor in listener.descriptors { close(descriptor) }
        }
    }
}
