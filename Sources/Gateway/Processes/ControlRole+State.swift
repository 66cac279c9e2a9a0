// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Store
import Telemetry
import Transport

extension ControlRole {
    func processes() async -> [ProcessStatus]? {
        let waiter = ReplyWaiter<[ProcessStatus]>(loop: loop)
        processWaiters.append(waiter)
        link.send(.askProcesses)
        return await waiter.value(within: .seconds(2))
    }

    var configurationStatus: ConfigurationStatus {
        ConfigurationStatus(
            path: accepted.path,
            redis: redisText,
            startedAt: startedAt,
            takenAt: takenAt,
            refusedAt: refusedAt
        )
    }

    func unreadyReasons() -> [String] {
        if isDraining { return ["draining"] }
        var reasons = [registryWatch.problem].compactMap(\.self)
        let serving = slots.workersServing()
        if serving == 0 {
            reasons.append("no worker serves")
        } else if slots.workersWithRedis() == 0 {
            reasons.append("no worker reaches Redis\(redisFailure)")
        } else if slots.workersJudging() == 0 {
            // One is enough: it accepts for those that cannot judge yet.
            reasons.append(redisFullness ?? "no worker has read the registry")
        }
        // Only until it was there once: changes need it, requests do not.
        if !hasReachedRedis {
            reasons.append("control does not reach Redis yet\(redisFailure)")
        } else if !keyring.isSettled {
            reasons.append("control has not read the signing keys yet")
        }
        if let problem = keyring.problem { reasons.append(problem) }
        if let redisProblem { reasons.append(redisProblem) }
        return reasons
    }

    /// Why control's own connection is not there, as the end of a sentence.
    private var redisFailure: String { redis.isReady ? "" : redis.lastFailure.map { ": \($0)" } ?? "" }

    /// What somebody should look at.
    var warnings: [String] { [redisFullness].compactMap(\.self) + unable + registryWatch.warnings + ending }

    /// That some children cannot start, though others serve.
    var unable: [String] {
        let count = slots.childrenUnable()
        guard count > 0 else { return [] }
        return [
            "\(count) process\(count == 1 ? "" : "es") cannot start, others do the work: see the log and sallyport status"
        ]
    }

    /// What runs out, certificates of listeners included.
    var ending: [String] {
        trust.warnings + CertificateWatch.warnings(configuration, at: Timestamp.now().milliseconds / 1_000)
    }

    var trustStatus: JSONValue { trust.status }

    private var redisText: String {
        let kind: String
        switch configuration.state.redis {
        case .embedded: kind = "embedded"
        case .server: kind = "external"
        }
        return "\(kind), \(redis.isReady ? "connected" : "not connected")"
    }

    func lookAtRedis() {
        redisTimer.arm(after: redis.isReady ? Self.redisInterval : .milliseconds(500))
        guard redis.isReady else { return }
        // A process that died in a change left Redis syncing every write.
        registry.relax()
        Task { @Reactor in
            do throws(StoreError) {
                let problem = try await RedisRequirements.problem(of: redis)
                var isFull = false
                if case .full = problem { isFull = true }
                redisFullness = isFull ? problem?.description : nil
                redisProblem = isFull ? nil : problem?.description
            } catch {
                // The connection says so itself.
                (redisProblem, redisFullness) = (nil, nil)
            }
        }
    }
}
