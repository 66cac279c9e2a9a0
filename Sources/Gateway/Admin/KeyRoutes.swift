// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension AdminRoutes {
    static let keyRoutes: [Route] = [
        Route("GET", "apps/*/api-keys") { routes, request async throws(AdminProblem) in
            try await routes.listKeys(request)
        },
        Route("POST", "apps/*/api-keys") { routes, request async throws(AdminProblem) in
            try await routes.createKey(request)
        },
        Route("DELETE", "apps/*/api-keys/*") { routes, request async throws(AdminProblem) in
            try await routes.revokeKey(request)
        },
    ]

    /// Keys an app may have at once: two for a handover, the rest for several servers.
    private static let keyLimit = 32

    /// Makes a key and shows it, this once; only its keyed hash is kept (SAL-008).
    private func createKey(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let name = try request.name(of: "a key")
        if let kind = try request.optionalText("kind"), kind != "server" {
            return try await createVouchKey(request, name: name, kind: kind)
        }
        let createdAt = now()
        let (id, text) = APIKeyText.mint(random: NewNames.randomBytes)
        let secret = peppers.hash(text.utf8.span, .apiKey, createdAt: createdAt)
        let key = APIKeyRecord(id: id, name: name, secret: secret)
        let answer = try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            guard record.keys.count < Self.keyLimit else {
                throw .rejected(
                    code: "too_many_keys",
                    message: "an app has at most \(Self.keyLimit) keys; revoke one that is not used"
                )
            }
            record.keys.append(key)
            return [
                HistoryEvent("api_key_created", [("key_id", .string(id.rawValue)), ("name", .string(name))])
            ]
        } describe: { record, _ in
            [
                ("message", .string("key \(id.rawValue) made")), ("id", .string(id.rawValue)),
                ("key", .string(text)), ("name", .string(name)), ("app_id", .string(record.appID.rawValue)),
                ("created_at", .string(self.text(createdAt))),
            ]
        }
        return AdminAnswer(answer.body, status: 201)
    }

    private func listKeys(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let record = try await app(request.path[1])
        let uses = try await registryCall { () async throws(RegistryError) in
            try await registry.uses(of: record.keys.map(\.id))
        }
        let keys = record.keys.map { key in
            let use = uses[key.id]
            return JSONValue.object([
                ("id", .string(key.id.rawValue)), ("name", .string(key.name)), ("kind", .string("server")),
                ("created_at", .string(text(key.secret.createdAt))),
                ("last_used_at", .optional(use.map { text($0.at) })), ("last_used_network", .optional(use?.network)),
            ])
        }
        return AdminAnswer(.object([("keys", .array(keys + (try await describeVouchKeys(record))))]))
    }

    private func revokeKey(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let id = APIKeyID(rawValue: request.path[3])
        let promise = Self.refusedFromNow
        let wasRevoked = try await tells(
            "api_key_revoked",
            "key_id",
            id.rawValue,
            in: try await app(request.path[1]).recordID
        )
        return try await change(app: request.path[1], by: request.by, promise: promise) {
            record throws(RegistryError) in
            guard let place = record.keys.firstIndex(where: { $0.id == id }) else {
                if let event = Self.removeVouchKey(id, from: &record) { return [event] }
                // Whoever asks again, because it was not confirmed the first time, wants to know how far it is now.
                if wasRevoked { return [] }
                throw .rejected(code: "key_not_found", message: "the app has no key \(id.rawValue)")
            }
            let name = record.keys.remove(at: place).name
            return [
                HistoryEvent("api_key_revoked", [("key_id", .string(id.rawValue)), ("name", .string(name))])
            ]
        } describe: { _, isChanged in
            [
                ("message", .string("key \(id.rawValue) \(isChanged ? "is revoked" : "was revoked already")")),
                ("id", .string(id.rawValue)),
            ]
        }
    }
}
