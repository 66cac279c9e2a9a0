// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Telemetry
import Transport

extension ControlRole {
    /// Checks the file with the code of `check`; only a file without a problem reaches the workers.
    func reload() async -> ReloadOutcome {
        await turns.run(.file)
    }

    func take(from source: ReloadTurns.Source) async -> ReloadOutcome {
        // Before the files are read: one that is replaced meanwhile is noticed at the next look.
        watch = CertificateWatch(configuration)
        let outcome = await takeText(from: source)
        Places.letGo()
        switch outcome {
        case .taken(let workers):
            log.info("configuration taken", ["file": accepted.path, "workers": "\(workers)"])
            refusedAt = nil
            takenAt = Timestamp.now().milliseconds
            metrics.took(configuration, at: takenAt)
            watch.follow(configuration)
            trust.took(configuration.trust)
            expiry.look()
            registryWatch.configurationTaken()
        case .refused(let problems), .partly(let problems):
            for problem in problems { log.error("configuration refused", ["problem": problem]) }
            refusedAt = Timestamp.now().milliseconds
            metrics.refused()
        }
        return outcome
    }

    private func takeText(from source: ReloadTurns.Source) async -> ReloadOutcome {
        let fresh: Configuration
        let accepted = accepted
        do {
            // A disk may take its time, and many routes and certificates tens of milliseconds: the listeners go on.
            switch source {
            case .file:
                fresh = try await pool.run { () throws(ConfigurationProblems) in
                    try Configuration.load(
                        path: accepted.path,
                        environment: accepted.environment,
                        surroundings: .changing
                    )
                }
            case .accepted: fresh = try await pool.run { () throws(ProcessFault) in try accepted.load() }
            }
        } catch let problems as ConfigurationProblems {
            return .refused(problems.problems.map(\.description))
        } catch let fault as ProcessFault {
            return .refused([fault.message])
        } catch {
            return .refused(["the configuration cannot be read"])
        }
        let fixed = RestartOnly.changes(from: configuration, to: fresh)
        guard fixed.isEmpty else { return .refused(fixed.map { "\(accepted.path): \($0)" }) }
        do {
            try await pool.run { () throws(ProcessFault) in try accepted.keep(fresh.text) }
        } catch {
            return .refused([error.message])
        }
        let waiter = reloads.begin(workers: workers, loop: loop)
        link.send(.takeConfiguration(reloads.number))
        guard let faults = await waiter.value(within: Self.reloadDeadline) else {
            await takeBack()
            return .partly(["no answer from every worker in \(Self.reloadDeadline)"])
        }
        guard faults.isEmpty else {
            await takeBack()
            return .partly(faults)
        }
        configuration = fresh
        issuers.follow(fresh.issuers)
        do {
            try network?.reload(fresh.admin)
        } catch {
            log.error("the admin listener keeps its certificate", ["reason": error.message])
        }
        return .taken(workers: workers)
    }

    /// Has those workers that took a text give it up again, so that all run one set: the old one.
    private func takeBack() async {
        let (accepted, text) = (accepted, configuration.text)
        do {
            try await pool.run { () throws(ProcessFault) in try accepted.keep(text) }
            link.send(.takeConfiguration(ProcessMessage.unnumbered))
        } catch {
            log.error("the old configuration cannot be kept", ["reason": error.message])
        }
    }

    func lookAtCertificates() {
        defer { certificateTimer.arm(after: Self.certificateInterval) }
        guard watch.hasChanged() else { return }
        log.info("certificate files changed")
        // What the file says meanwhile nobody has asked for.
        Task { @Reactor in _ = await turns.run(.accepted) }
    }
}
