// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Telemetry
import Transport

extension WorkerRole {
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
            let rules = try await trust.rules(fresh.trust, on: pool)
            try await worker.reload(fresh)
            await worker.state.keys.follow(fresh.issuers)
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
}
