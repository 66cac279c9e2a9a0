// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Encodings
import Store

/// What administrators of dialect C do: identity, debug tokens, installs, statistics.
extension AdminRoutes {
    static let appEngineRoutes: [Route] = [
        Route("GET", "apps/*/identity") { routes, request async throws(AdminProblem) in
            let record = try await routes.app(request.path[1])
            return AdminAnswer(.object(IdentityView.members(of: record, uses: try await routes.debugTokenUses(record))))
        },
        Route("PUT", "apps/*/identity") { routes, request async throws(AdminProblem) in
            try await routes.setIdentity(request)
        },
        Route("GET", "apps/*/debug-tokens") { routes, request async throws(AdminProblem) in
            let record = try await routes.app(request.path[1])
            let uses = try await routes.debugTokenUses(record)
            let tokens = record.debugTokens.map { IdentityView.describe($0, uses) }
            return AdminAnswer(
                .object([("allowed", .bool(record.allowsDebugTokens)), ("debug_tokens", .array(tokens))])
            )
        },
        Route("POST", "apps/*/debug-tokens") { routes, request async throws(AdminProblem) in
            try await routes.createDebugToken(request)
        },
        Route("PUT", "apps/*/debug-tokens") { routes, request async throws(AdminProblem) in
            try await routes.allowDebugTokens(request)
        },
        Route("DELETE", "apps/*/debug-tokens/*") { routes, request async throws(AdminProblem) in
            try await routes.deleteDebugToken(request)
        },
        Route("GET", "apps/*/devices") { routes, request async throws(AdminProblem) in
            try await routes.listDevices(request)
        },
        Route("POST", "apps/*/devices/*/block") { routes, request async throws(AdminProblem) in
            try await routes.block(true, request)
        },
        Route("POST", "apps/*/devices/*/unblock") { routes, request async throws(AdminProblem) in
            try await routes.block(false, request)
        },
        Route("GET", "apps/*/sign-ins") { routes, request async throws(AdminProblem) in
            try await routes.listSignIns(request)
        },
        Route("GET", "apps/*/failures") { routes, request async throws(AdminProblem) in
            try await routes.listFailures(request)
        },
    ]

    // MARK: Identity

    private func setIdentity(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let form: IdentityForm
        do {
            form = try IdentityForm(request.body)
        } catch {
            throw .badRequest(error.sentence)
        }
        let record = try await app(request.path[1])
        var sealed: SealedText?
        if let keys = form.android?.keys {
            sealed = try sealedPlayKeys(keys.decryption, keys.verification, for: record.recordID)
        }
        let uses = try await debugTokenUses(record)
        return try await change(app: request.path[1], by: request.by) { [sealed] record throws(RegistryError) in
            form.apply(to: &record, sealed: sealed)
        } describe: { record, _ in
            IdentityView.members(of: record, uses: uses)
        }
    }

    // MARK: Debug tokens

    private func debugTokenUses(_ record: AppRecord) async throws(AdminProblem) -> [APIKeyID: KeyUse] {
        let ids = record.debugTokens.map { APIKeyID(rawValue: $0.id) }
        guard !ids.isEmpty else { return [:] }
        return try await registryCall { () async throws(RegistryError) in try await registry.uses(of: ids) }
    }

    private func createDebugToken(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let name = try request.name(of: "a debug token")
        let made = NewDebugToken(name: name, peppers: peppers, now: now())
        let answer = try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            guard record.debugTokens.count < NewDebugToken.most else {
                throw .rejected(
                    code: "too_many_debug_tokens",
                    message: "an app has at most \(NewDebugToken.most) debug tokens; delete one"
                )
            }
            record.debugTokens.append(made.record)
            return [HistoryEvent("debug_token_created", [("id", .string(made.record.id)), ("name", .string(name))])]
        } describe: { _, _ in
            [
                ("id", .string(made.record.id)), ("name", .string(name)), ("token", .string(made.text)),
                ("message", .string("the token is shown this once")),
            ]
        }
        return AdminAnswer(answer.body, status: 201)
    }

    private func allowDebugTokens(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let allows = try request.flag("allowed")
        let promise = allows ? nil : "so they are from the next sign-in on"
        return try await change(app: request.path[1], by: request.by, promise: promise) {
            record throws(RegistryError) in
            guard record.allowsDebugTokens != allows else { return [] }
            record.allowsDebugTokens = allows
            return [HistoryEvent(allows ? "debug_tokens_allowed" : "debug_tokens_refused")]
        } describe: { record, _ in
            let verb = allows ? "are taken" : "are refused"
            return [
                ("message", .string("debug tokens of \(record.appID.rawValue) \(verb)")), ("allowed", .bool(allows)),
            ]
        }
    }

    private func deleteDebugToken(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let id = request.path[3]
        let record = try await app(request.path[1])
        let wasDeleted = try await tells("debug_token_deleted", "id", id, in: record.recordID)
        return try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            guard let place = record.debugTokens.firstIndex(where: { $0.id == id }) else {
                if wasDeleted { return [] }
                throw .rejected(code: "debug_token_not_found", message: "the app has no debug token \(id)")
            }
            let name = record.debugTokens.remove(at: place).name
            return [HistoryEvent("debug_token_deleted", [("id", .string(id)), ("name", .string(name))])]
        } describe: { _, isChanged in
            let verb = isChanged ? "is deleted" : "was deleted already"
            return [("id", .string(id)), ("deleted", .bool(true)), ("message", .string("debug token \(id) \(verb)"))]
        }
    }

    // MARK: Installs

    private func listDevices(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let record = try await app(request.path[1])
        var devices: [JSONValue] = []
        for dialect in record.dialects {
            let rows = try await stored { () async throws(StoreError) in
                try await registry.deviceKeys.newest(100, of: record.recordID, in: dialect)
            }
            devices += rows.map { describe($0, record, dialect) }
        }
        return AdminAnswer(.object([("devices", .array(devices))]))
    }

    private func describe(_ row: DeviceKeyRow, _ record: AppRecord, _ dialect: Dialect) -> JSONValue {
        .object([
            ("id", .string(Hex.encode(row.key.keyID))), ("name", .string("\(record.name) on iOS (App Attest)")),
            ("dialect", .string(dialect.rawValue)), ("environment", .string(row.key.environment.rawValue)),
            ("blocked", .bool(row.key.isBlocked)), ("registered_at", .string(text(row.registeredAt))),
            ("seen_at", .string(text(row.seenAt))),
        ])
    }

    /// Its next sign-in is refused; the token that it holds lives out its hour (APP-092).
    private func block(_ blocks: Bool, _ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let record = try await app(request.path[1])
        let id: [UInt8]
        do {
            id = try Hex.decode(request.path[3])
        } catch {
            throw .badRequest("a device's id is 64 hexadecimal digits: sallyport devices list")
        }
        var isKnown = false
        var isChanged = false
        for dialect in record.dialects {
            let changed = try await stored { () async throws(StoreError) in
                try await registry.deviceKeys.setBlocked(blocks, id, of: record.recordID, in: dialect)
            }
            if let changed {
                isKnown = true
                isChanged = isChanged || changed
            }
        }
        guard isKnown else {
            throw .notFound("the app has no device \(request.path[3])", nextSteps: ["sallyport devices list"])
        }
        if isChanged {
            let event = HistoryEvent(
                blocks ? "device_blocked" : "device_unblocked",
                [("device", .string(request.path[3]))]
            )
            try await registryCall { () async throws(RegistryError) in
                try await registry.note([event], of: record.recordID, by: request.by)
            }
        }
        let verb = blocks ? "is blocked; its next sign-in is refused" : "may sign in again"
        return AdminAnswer(
            .object([
                ("message", .string("device \(request.path[3]) \(verb)")), ("id", .string(request.path[3])),
                ("blocked", .bool(blocks)), ("changed", .bool(isChanged)), ("confirmed", .bool(true)),
            ])
        )
    }

    // MARK: Statistics

    private func listSignIns(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let record = try await app(request.path[1])
        var count = SignInHistory.days
        if let text = request.query["days"] {
            guard let number = Int(text), (1...SignInHistory.days).contains(number) else {
                throw .badRequest("days is 1 to \(SignInHistory.days)")
            }
            count = number
        }
        let days = try await stored { [count] () async throws(StoreError) in
            try await registry.signInHistory.signIns(of: record.recordID, now: now(), latest: count)
        }
        return AdminAnswer(
            .object([
                (
                    "days",
                    .array(
                        days.map { day in
                            .object(
                                [("date", .string(day.date))]
                                    + SignInMethod.allCases.map { ($0.rawValue, .integer(day.counts[$0] ?? 0)) }
                            )
                        }
                    )
                )
            ])
        )
    }

    private func listFailures(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let record = try await app(request.path[1])
        let faults = try await stored { () async throws(StoreError) in
            try await registry.signInHistory.faults(of: record.recordID)
        }
        let rows = faults.map { fault in
            JSONValue.object([
                ("at", .string(InternetTime.text(milliseconds: fault.at))), ("platform", .string(fault.platform)),
                ("reason", .string(fault.reason)),
            ])
        }
        return AdminAnswer(.object([("failures", .array(rows))]))
    }

    func stored<Value: Sendable>(
        _ call: () async throws(StoreError) -> Value
    ) async throws(AdminProblem) -> Value {
        do {
            return try await call()
        } catch {
            throw AdminProblem(RegistryError.store(error))
        }
    }
}
