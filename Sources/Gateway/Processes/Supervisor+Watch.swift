// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Telemetry

extension Supervisor {
    /// Once a second: which children have given a sign of life; one that has hung is killed, and so started again.
    func look() {
        guard stopping == nil, ContinuousClock.now >= nextLook else { return }
        let now = SuspendingClock.now
        let elapsed = now - lastLook
        lastLook = now
        nextLook = ContinuousClock.now + ChildPulse.interval
        for index in children.indices where children[index].isAlive && isWatched(children[index]) {
            feelPulse(of: index, after: elapsed)
        }
        killWhatIsDue()
        letWaitingAccept()
    }

    /// Redis gives its signs to control: where control gives none itself, nothing is known of Redis.
    ///
    /// A control that starts counts, because it may start for want of Redis; so does one whose last sign is a look old,
    /// because its timer and ours drift.
    private func isWatched(_ child: SupervisedChild) -> Bool {
        switch child.role {
        case .worker, .control: true
        case .redis: children.contains { $0.role == .control && $0.isAlive && $0.pulse.tellsOfOthers }
        }
    }

    private func feelPulse(of index: Int, after elapsed: Duration) {
        let child = children[index]
        let standing = children[index].pulse.looked(
            at: child.beats,
            after: elapsed,
            isStarting: child.state == .starting
        )
        let silence = children[index].pulse.silence.text
        switch standing {
        case .well:
            guard child.isLate else { return }
            log.info("a child is well again", ["role": child.role.name])
            mark(index, late: false)
        case .late:
            guard !child.isLate else { return }
            log.warning("a child is late", ["role": child.role.name, "silent": silence])
            mark(index, late: true)
        case .hung:
            // One at a time: while all of them are late, the fault may be the machine's.
            // One that even SIGKILL does not end, because the kernel holds it, keeps the others no longer.
            guard !children.contains(where: { $0.isBeingKilled }) else { return }
            guard child.killAt == nil else { return }
            log.error("a child hung", ["role": child.role.name, "pid": "\(child.pid)", "silent": silence])
            metrics.hangs(of: child.role).increment()
            // The first writes where it hangs. Redis would write what it holds of its clients too.
            kill(child.pid, child.role == .redis ? SIGKILL : SIGABRT)
            children[index].killAt = ContinuousClock.now + Self.traceTime
        }
    }

    /// So long a trace may take.
    private static let traceTime = Duration.seconds(2)

    private func mark(_ index: Int, late: Bool) {
        children[index].isLate = late
        settleSockets()
        countServing()
    }

    /// A stopped process does not even abort.
    private func killWhatIsDue() {
        for child in children {
            guard child.isAlive, let killAt = child.killAt, ContinuousClock.now >= killAt else { continue }
            kill(child.pid, SIGKILL)
        }
    }
}
