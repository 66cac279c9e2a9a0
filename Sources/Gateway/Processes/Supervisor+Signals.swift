// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Telemetry

/// How far a stop has come.
struct Stopping {
    /// Workers still running then are killed.
    var workersUntil: ContinuousClock.Instant
    /// Control and Redis were told to end; still running then they are killed.
    var restUntil: ContinuousClock.Instant?

    var nextAct: ContinuousClock.Instant { restUntil ?? workersUntil }
}

extension Duration {
    /// Seconds with three digits, for log lines.
    var text: String {
        let (seconds, attoseconds) = components
        let thousandths = Int(attoseconds / 1_000_000_000_000_000)
        return "\(seconds).\(String(thousandths + 1000).dropFirst())s"
    }
}

extension Supervisor {
    /// HUP reloads, TERM drains and stops, INT stops, USR1 opens logs again.
    func arrived(_ signal: CInt) {
        switch signal {
        case SIGHUP where stopping == nil:
            log.info("reload asked for")
            checkConfiguration()
        case SIGTERM where stopping == nil:
            log.info("draining", ["deadline": plan.drain.text])
            stop(gracefully: true)
        case SIGINT:
            log.info("stopping")
            stop(gracefully: false)
        case SIGUSR1:
            for child in children { send(.reopenLogs, to: child) }
        default:
            break
        }
    }

    /// Has control check the file with the code of `check`; when control is away, as soon as it is back.
    func checkConfiguration() {
        guard let control = children.first(where: { $0.role == .control }), control.state == .serving else {
            owesCheck = true
            return
        }
        owesCheck = false
        send(.checkConfiguration, to: control)
    }

    /// Ends the workers, within the drain's deadline or at once; then control and Redis.
    func stop(gracefully: Bool) {
        if stopping == nil {
            closeListeners()
            ServiceNotification.send("STOPPING=1", environment: environment)
        }
        let now = ContinuousClock.now
        let (seconds, attoseconds) = plan.drain.components
        let milliseconds = Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
        for index in children.indices {
            if children[index].state == .away { children[index].state = .ended }
            guard children[index].isWorker, children[index].isAlive else { continue }
            children[index].state = .ending
            if gracefully {
                send(.drain(milliseconds: milliseconds), to: children[index])
            } else {
                kill(children[index].pid, SIGKILL)
            }
        }
        sendToControl(.drain(milliseconds: milliseconds))
        // A second beyond the workers' own deadline: they cut what is left by themselves.
        stopping = Stopping(workersUntil: gracefully ? now + plan.drain + .seconds(1) : now)
    }

    /// Whether everything has ended; on the way there ends what is due.
    func isOver(_ state: Stopping) -> Bool {
        let now = ContinuousClock.now
        let workers = children.indices.filter { children[$0].isWorker && children[$0].isAlive }
        if !workers.isEmpty {
            guard now >= state.workersUntil else { return false }
            for index in workers {
                log.warning("killed at the deadline", ["role": children[index].role.name])
                kill(children[index].pid, SIGKILL)
            }
            stopping?.workersUntil = now + .seconds(1)
            return false
        }
        let rest = children.filter(\.isAlive)
        guard !rest.isEmpty else {
            log.info("stopped")
            return true
        }
        guard let until = state.restUntil else {
            // Control keeps nothing; Redis writes its file's end on TERM.
            for child in rest { kill(child.pid, child.role == .redis ? SIGTERM : SIGKILL) }
            stopping?.restUntil = now + .seconds(5)
            return false
        }
        guard now >= until else { return false }
        for child in rest { kill(child.pid, SIGKILL) }
        stopping?.restUntil = now + .seconds(1)
        return false
    }
}
