// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension AdminRoutes {
    static let policyRoutes: [Route] = [
        Route("PUT", "apps/*/development-mode") { routes, request async throws(AdminProblem) in
            try await routes.setDevelopment(request)
        },
        Route("PUT", "apps/*/production") { routes, request async throws(AdminProblem) in
            try await routes.setProduction(request)
        },
        Route("PUT", "apps/*/dev-builds") { routes, request async throws(AdminProblem) in
            try await routes.setDevelopmentBuilds(request)
        },
        Route("PUT", "apps/*/android-degraded") { routes, request async throws(AdminProblem) in
            try await routes.setDegraded(request)
        },
        Route("GET", "apps/*/check") { routes, request async throws(AdminProblem) in
            let record = try await routes.app(request.path[1])
            let warnings = try await routes.warnings(before: request.query["mode"], of: record)
            return AdminAnswer(.object([("mode", .string(record.check.rawValue)), ("warnings", .texts(warnings))]))
        },
        Route("PUT", "apps/*/check") { routes, request async throws(AdminProblem) in
            try await routes.setCheck(request)
        },
    ]

    /// 1 to 72 hours, 24 when not said (OFF-080, OFF-139); refused for a production app (OFF-088).
    private func setDevelopment(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        guard try request.flag("enabled") else { return try await endDevelopment(request) }
        let asked = request.body["hours"]
        let hours = asked == nil || asked == .null ? 24 : asked?.integer ?? 0
        guard (1...72).contains(hours) else { throw .badRequest("hours is 1 to 72") }
        let until = now() + Int64(hours) * 3_600_000
        return try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            guard !record.isProduction else {
                throw .rejected(
                    code: "application_is_production",
                    message: "development mode is refused for an app marked production; use an app of its own"
                )
            }
            record.developmentUntil = until
            return [
                HistoryEvent(
                    "development_mode_enabled",
                    [("hours", .integer(hours)), ("until", .string(self.text(until)))]
                )
            ]
        } describe: { record, _ in
            [
                ("message", .string("development mode of \(record.appID.rawValue) is on until \(self.text(until))")),
                ("active", .bool(true)), ("until", .string(self.text(until))),
            ]
        }
    }

    private func endDevelopment(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let moment = now()
        return try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            // One that ran out by itself is off already, and writes no event (OFF-145).
            guard let until = record.developmentUntil, until > moment else { return [] }
            record.developmentUntil = nil
            return [HistoryEvent("development_mode_disabled", [("reason", .string("turned_off"))])]
        } describe: { record, isChanged in
            let verb = isChanged ? "is off now" : "was off already"
            return [
                // OFF-087: the mode's present state is what counts.
                (
                    "message",
                    .string(
                        "development mode of \(record.appID.rawValue) \(verb): its sessions count only while it is on"
                    )
                ),
                ("active", .bool(false)),
                ("until", .null),
            ]
        }
    }

    /// Marking ends development mode at once (OFF-093, OFF-094).
    private func setProduction(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let enabled = try request.flag("enabled")
        let moment = now()
        return try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            guard record.isProduction != enabled else { return [] }
            record.isProduction = enabled
            guard enabled else { return [HistoryEvent("production_unmarked")] }
            var events: [HistoryEvent] = []
            if let until = record.developmentUntil, until > moment {
                events.append(HistoryEvent("development_mode_disabled", [("reason", .string("production"))]))
            }
            record.developmentUntil = nil
            record.labTrust = nil
            return events + [HistoryEvent("production_marked")]
        } describe: { record, isChanged in
            let state = enabled ? "marked production" : "not marked production"
            let verb = isChanged ? "is \(state) now" : "is \(state) already"
            return [("message", .string("\(record.appID.rawValue) \(verb)")), ("production", .bool(enabled))]
        }
    }

    private func setDevelopmentBuilds(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let enabled = try request.flag("enabled")
        return try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            guard record.allowsDevelopmentBuilds != enabled else { return [] }
            record.allowsDevelopmentBuilds = enabled
            return [HistoryEvent("development_builds_changed", [("allowed", .bool(enabled))])]
        } describe: { record, isChanged in
            let state = enabled ? "accepted" : "refused"
            let verb = isChanged ? "are \(state) now" : "are \(state) already"
            let message = "development builds of \(record.appID.rawValue) \(verb)"
            return [("message", .string(message)), ("development_builds", .bool(enabled))]
        }
    }

    private func setDegraded(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let policy: DegradedPolicy = try request.flag("allow") ? .allow : .refuse
        return try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            let former = record.androidDegraded
            guard former != policy else { return [] }
            record.androidDegraded = policy
            return [
                HistoryEvent(
                    "android_degraded_changed",
                    [("from", .string(former.rawValue)), ("to", .string(policy.rawValue))]
                )
            ]
        } describe: { record, isChanged in
            let state = policy == .allow ? "allowed" : "refused"
            let verb = isChanged ? "are \(state) now" : "are \(state) already"
            return [
                ("message", .string("degraded Androids of \(record.appID.rawValue) \(verb)")),
                ("androidDegraded", .string(policy.rawValue)),
            ]
        }
    }

    private func setCheck(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let word = try request.text("mode")
        guard let mode = CheckMode(rawValue: word) else {
            throw .badRequest("mode is off, monitor or enforce, not \"\(word)\"")
        }
        let warnings = try await warnings(before: word, of: try await app(request.path[1]))
        return try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            let former = record.check
            guard former != mode else { return [] }
            record.check = mode
            return [
                HistoryEvent("check_changed", [("from", .string(former.rawValue)), ("to", .string(mode.rawValue))])
            ]
        } describe: { record, isChanged in
            let verb = isChanged ? "is \(mode.rawValue) now" : "is \(mode.rawValue) already"
            return [
                ("message", .string("the check of \(record.appID.rawValue) \(verb)")), ("mode", .string(mode.rawValue)),
                ("warnings", .texts(warnings)),
            ]
        }
    }

    /// What enforcing would break (APP-085): words, which the command line says as sentences.
    private func warnings(before mode: String?, of record: AppRecord) async throws(AdminProblem) -> [String] {
        guard mode == CheckMode.enforce.rawValue else { return [] }
        let days = try await stored { () async throws(StoreError) in
            try await registry.signInHistory.signIns(of: record.recordID, now: now())
        }
        var warnings: [String] = []
        if days.contains(where: { $0.counts[.secret, default: 0] > 0 }) { warnings.append("secret_used_30d") }
        if record.native.ios.isEmpty, record.native.android.isEmpty { warnings.append("no_native_identity") }
        return warnings
    }
}
