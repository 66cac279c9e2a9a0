// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Telemetry

extension Supervisor {
    func startWhatIsDue() {
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

    func reap() {
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
        let cannotStart = end == .exited(ChildEnd.misconfigured)
        children[index].failedStarts = cannotStart ? children[index].failedStarts + 1 : 0
        let failures = children[index].failedStarts
        let delay =
            cannotStart ? RestartPolicy.pause(afterFailedStarts: failures) : children[index].policy.died(after: life)
        children[index].state = .away
        children[index].startAt = now + delay
        children[index].restarts += 1
        metrics.restarts(of: children[index].role).increment()
        let role = children[index].role.name
        if cannotStart {
            tellFailedStart(role, failures, again: delay)
        } else {
            log.error("a child died", ["role": role, "end": end.text, "again_in": delay.text, "lived": life.text])
        }
        forgetStandIn(index)
        settleSockets()
        countServing()
    }

    /// Once in a row as an error: the child itself says why, each time.
    private func tellFailedStart(_ role: String, _ failures: Int, again delay: Duration) {
        metrics.childrenUnable.set(children.filter { $0.failedStarts > 0 }.count)
        guard failures == 1 else {
            return log.warning(
                "a child still cannot start",
                ["role": role, "times": "\(failures)", "again_in": delay.text]
            )
        }
        log.error(
            "a child cannot start, others do its work",
            [
                "role": role, "why": "see its own line above",
                "way_out": "mend what it names; it is tried again, at once after sallyport reload",
                "again_in": delay.text,
            ]
        )
    }
}
