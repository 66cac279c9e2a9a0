// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension AdminRoutes {
    static let vouchRoutes: [Route] = [
        Route("GET", "apps/*/policies") { routes, request async throws(AdminProblem) in
            try await routes.showPolicies(request)
        },
        Route("PUT", "apps/*/policies") { routes, request async throws(AdminProblem) in
            try await routes.setPolicies(request)
        },
        Route("GET", "apps/*/settings") { routes, request async throws(AdminProblem) in
            AdminAnswer(.object(AdminRoutes.settings(of: try await routes.app(request.path[1]))))
        },
        Route("PATCH", "apps/*/settings") { routes, request async throws(AdminProblem) in
            try await routes.changeSettings(request)
        },
        Route("GET", "apps/*/debug-devices") { routes, request async throws(AdminProblem) in
            AdminAnswer(routes.debugDevices(of: try await routes.app(request.path[1])))
        },
        Route("POST", "apps/*/debug-devices") { routes, request async throws(AdminProblem) in
            try await routes.addDebugDevice(request)
        },
        Route("DELETE", "apps/*/debug-devices/*") { routes, request async throws(AdminProblem) in
            try await routes.removeDebugDevice(request)
        },
        Route("POST", "apps/*/devices/*/revoke") { routes, request async throws(AdminProblem) in
            try await routes.revokeDevice(request)
        },
        Route("GET", "apps/*/verdicts") { routes, request async throws(AdminProblem) in
            try await routes.listVerdicts(request)
        },
    ]

    // MARK: Policies

    private func showPolicies(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let record = try await app(request.path[1])
        var rows: [JSONValue] = []
        for policy in record.vouchSettings.policies {
            let count = try await stored { () async throws(StoreError) in
                try await registry.verdicts.devices(metBy: policy, of: record.recordID)
            }
            rows.append(
                .object([
                    ("when", .string(policy.when)), ("action", .string(policy.action.rawValue)),
                    ("since", .string(text(policy.since))), ("devices", .integer(count)),
                ])
            )
        }
        return AdminAnswer(
            .object([("policies", .array(rows)), ("subjects", .texts(["degraded"] + VouchReason.policySubjects))])
        )
    }

    /// Replaces the rules; one that stays as it was goes on counting.
    private func setPolicies(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        guard let items = request.body["policies"]?.array else {
            throw .badRequest("the body needs \"policies\": a list of {\"when\", \"action\"}")
        }
        var rules: [(when: String, action: VouchPolicy.Action)] = []
        for item in items {
            guard let when = item["when"]?.string, let word = item["action"]?.string,
                let action = VouchPolicy.Action(rawValue: word), item.object?.members.count == 2
            else { throw .badRequest("a policy is {\"when\": …, \"action\": \"allow\", \"refuse\" or \"monitor\"}") }
            // VCH-032: no rule turns a failure into a token, and none is needed to refuse it.
            guard when != "fail", when != "pass", !VouchReason.failures.contains(when) else {
                throw .badRequest("\(when) is not a policy's to decide: a failure never gives a run token, a pass does")
            }
            guard when == "degraded" || VouchReason.policySubjects.contains(when) else {
                throw .badRequest(
                    "there is no reason or signal \"\(when)\"",
                    nextSteps: ["one of: degraded, \(VouchReason.policySubjects.joined(separator: ", "))"]
                )
            }
            guard !rules.contains(where: { $0.when == when }) else { throw .badRequest("two policies are for \(when)") }
            rules.append((when, action))
        }
        let since = now()
        let wanted = rules
        return try await changeVouch(request, "policies_changed") { settings in
            let old = settings.policies
            settings.policies = wanted.map { rule in
                old.first { $0.when == rule.when && $0.action == rule.action }
                    ?? VouchPolicy(when: rule.when, action: rule.action, since: since)
            }
            return [("policies", .texts(wanted.map { "\($0.when)=\($0.action.rawValue)" }))]
        }
    }

    // MARK: Settings

    private static func settings(of record: AppRecord) -> [(String, JSONValue)] {
        let settings = record.vouchSettings
        return [
            ("verdict_cache_seconds", .integer(Int(settings.verdictCache))),
            ("run_token_seconds", .integer(Int(settings.runTokenLife))),
            ("nonce_seconds", .integer(Int(settings.nonceLife))),
        ]
    }

    private func changeSettings(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let known = ["verdict_cache_seconds", "run_token_seconds", "nonce_seconds"]
        for member in request.body.object?.members ?? [] where !known.contains(member.name) {
            throw .badRequest("there is no setting \"\(member.name)\"; there are \(known.joined(separator: ", "))")
        }
        let cache = try Self.seconds(request, "verdict_cache_seconds", 0...7 * 86_400)
        // VCH-021: a day at most.
        let token = try Self.seconds(request, "run_token_seconds", 60...VouchSettings.longestRunToken)
        let nonce = try Self.seconds(request, "nonce_seconds", 30...3_600)
        return try await changeVouch(request, "settings_changed") { settings in
            settings.verdictCache = cache ?? settings.verdictCache
            settings.runTokenLife = token ?? settings.runTokenLife
            settings.nonceLife = nonce ?? settings.nonceLife
            return [
                ("verdict_cache_seconds", .integer(Int(settings.verdictCache))),
                ("run_token_seconds", .integer(Int(settings.runTokenLife))),
                ("nonce_seconds", .integer(Int(settings.nonceLife))),
            ]
        }
    }

    private static func seconds(
        _ request: AdminRequest,
        _ name: String,
        _ range: ClosedRange<Int64>
    ) throws(AdminProblem) -> Int64? {
        guard let value = request.body[name], value != .null else { return nil }
        guard let number = value.integer, range.contains(Int64(number)) else {
            throw .badRequest("\"\(name)\" is a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return Int64(number)
    }

    private func changeVouch(
        _ request: AdminRequest,
        _ event: String,
        _ body: (inout VouchSettings) -> [(name: String, value: JSONValue)]
    ) async throws(AdminProblem) -> AdminAnswer {
        try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            var settings = record.vouchSettings
            let details = body(&settings)
            guard settings != record.vouchSettings else { return [] }
            record.vouch = settings
            return [HistoryEvent(event, details)]
        } describe: { record, isChanged in
            [("message", .string(isChanged ? "changed" : "as it was"))] + Self.settings(of: record)
                + [
                    (
                        "policies",
                        .texts(record.vouchSettings.policies.map { "\($0.when)=\($0.action.rawValue)" })
                    )
                ]
        }
    }

    // MARK: Devices

    private func debugDevices(of record: AppRecord) -> JSONValue {
        let rows = record.vouchSettings.debugDevices.map { device in
            JSONValue.object([
                ("device_id", .string(device.id)), ("created_at", .string(text(device.createdAt))),
            ])
        }
        return .object([("debug_devices", .array(rows))])
    }

    private func addDebugDevice(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let device = try request.text("device_id")
        guard VouchDevice.isID(device) else {
            throw .badRequest("a device id is 1 to 128 letters, digits, -, ., _ or ~, not \"\(device)\"")
        }
        let reference = try await reference(request.path[1])
        let change = DebugDeviceChange(registry: registry)
        let time = now()
        let (record, confirmation) = try await registryCall { () async throws(RegistryError) in
            try await change.add(device, to: reference, by: request.by, now: time)
        }
        let message = "\(device) \(confirmation == nil ? "was listed already" : "is a debug device")"
        let members: [(String, JSONValue)] = [
            ("message", .string(message)), ("device_id", .string(device)),
            ("created_at", .string(text(record.createdAt))), ("changed", .bool(confirmation != nil)),
        ]
        guard let confirmation else { return AdminAnswer(.object(members + Confirmation.confirmed.members)) }
        let promise = "it attests with a test key from now on"
        return AdminAnswer(
            .object(confirmation.worded(members, promise: promise) + confirmation.members),
            status: 201
        )
    }

    private func removeDebugDevice(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let device = request.path[3]
        let reference = try await reference(request.path[1])
        let change = DebugDeviceChange(registry: registry)
        let confirmation = try await registryCall { () async throws(RegistryError) in
            try await change.remove(device, from: reference, by: request.by)
        }
        guard let confirmation else { throw .notFound("the app has no debug device \(device)") }
        let members: [(String, JSONValue)] = [
            ("message", .string("\(device) is no debug device any more")), ("device_id", .string(device)),
            ("changed", .bool(true)),
        ]
        let promise = "it is judged as any device from now on"
        return AdminAnswer(.object(confirmation.worded(members, promise: promise) + confirmation.members))
    }

    private func revokeDevice(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let device = request.path[3]
        let isLive = request.query["kind"] != "test"
        let record = try await app(request.path[1])
        let revocation = DeviceRevocation(registry: registry, tokens: registry.runTokens)
        let outcome = try await registryCall { () async throws(RegistryError) in
            try await revocation.run(device, isLive: isLive, of: record, by: request.by)
        }
        guard let outcome else { throw .notFound("no key of this kind ever saw the device \(device)") }
        let members: [(String, JSONValue)] = [
            ("message", .string("\(outcome.count) run tokens of \(device) ended")),
            ("device_id", .string(device)), ("revoked", .integer(outcome.count)),
        ]
        let state = outcome.confirmation
        return AdminAnswer(.object(state.worded(members, promise: "it may attest again") + state.members))
    }

    private func listVerdicts(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let record = try await app(request.path[1])
        guard let limit = Int(request.query["limit"] ?? "50"), (1...1_000).contains(limit) else {
            throw .badRequest("limit is 1 to 1000")
        }
        let rows = try await stored { () async throws(StoreError) in
            try await registry.verdicts.rows(of: record.recordID, limit: limit)
        }
        let values = rows.map { row in
            JSONValue.object([
                ("at", .string(text(row.at))), ("device_id", .string(row.device)),
                ("app_version", .string(row.version)), ("platform", .string(row.platform)),
                ("verdict", .string(row.verdict)), ("reasons", .texts(row.reasons)), ("source", .string(row.source)),
                ("kind", .string(row.isLive ? "live" : "test")), ("debug", .bool(row.isDebug)),
                ("from_cache", .bool(row.isFromCache)),
            ])
        }
        return AdminAnswer(.object([("verdicts", .array(values))]))
    }
}
