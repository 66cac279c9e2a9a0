// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

/// What administrators of dialect C do: identity and debug tokens.
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
}
