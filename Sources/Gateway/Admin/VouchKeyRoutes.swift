// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension AdminRoutes {
    /// Keys of dialect vouch that an app may have at once: two of each for a handover, and room.
    private static let vouchKeyLimit = 16

    /// Makes a key of dialect vouch and shows it, this once.
    func createVouchKey(
        _ request: AdminRequest,
        name: String,
        kind word: String
    ) async throws(AdminProblem) -> AdminAnswer {
        let kinds = ["sdk": VouchKeyKind.sdk, "management": .management]
        guard let kind = kinds[word] else { throw .badRequest("kind is server, sdk or management, not \"\(word)\"") }
        let mode = try request.text("mode")
        guard mode == "live" || mode == "test" else { throw .badRequest("mode is live or test") }
        let createdAt = now()
        let (id, text) = VouchKeyText.mint(kind, isLive: mode == "live", random: NewNames.randomBytes)
        let key = VouchKeyRecord(
            id: id,
            name: name,
            kind: kind,
            isLive: mode == "live",
            secret: peppers.hash(text.utf8.span, .vouchKey, createdAt: createdAt)
        )
        let answer = try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            guard record.dialects.contains(.vouch) else {
                throw .rejected(code: "dialect_off", message: "the app does not use dialect vouch")
            }
            var keys = record.vouchKeys ?? []
            guard keys.count < Self.vouchKeyLimit else {
                throw .rejected(
                    code: "too_many_keys",
                    message: "an app has at most \(Self.vouchKeyLimit) such keys; revoke one that is not used"
                )
            }
            keys.append(key)
            record.vouchKeys = keys
            return [
                HistoryEvent(
                    "api_key_created",
                    [
                        ("key_id", .string(id.rawValue)), ("name", .string(name)), ("kind", .string(word)),
                        ("mode", .string(mode)),
                    ]
                )
            ]
        } describe: { record, _ in
            [
                ("message", .string("key \(id.rawValue) made")), ("id", .string(id.rawValue)),
                ("key", .string(text)), ("name", .string(name)), ("kind", .string(word)), ("mode", .string(mode)),
                ("app_id", .string(record.appID.rawValue)), ("created_at", .string(self.text(createdAt))),
            ]
        }
        return AdminAnswer(answer.body, status: 201)
    }

    /// Takes a key of dialect vouch out of a record; nil where it is none of them.
    static func removeVouchKey(_ id: APIKeyID, from record: inout AppRecord) -> HistoryEvent? {
        guard let key = record.vouchKeys?.first(where: { $0.id == id }) else { return nil }
        record.vouchKeys?.removeAll { $0.id == id }
        return HistoryEvent("api_key_revoked", [("key_id", .string(id.rawValue)), ("name", .string(key.name))])
    }

    /// The keys of dialect vouch as lists show them.
    func describeVouchKeys(_ record: AppRecord) async throws(AdminProblem) -> [JSONValue] {
        let keys = record.vouchKeys ?? []
        let uses = try await registryCall { () async throws(RegistryError) in
            try await registry.uses(of: keys.map(\.id))
        }
        return keys.map { key in
            let use = uses[key.id]
            return .object([
                ("id", .string(key.id.rawValue)), ("name", .string(key.name)),
                ("kind", .string(key.kind == .sdk ? "sdk" : "management")),
                ("mode", .string(key.isLive ? "live" : "test")),
                ("created_at", .string(text(key.secret.createdAt))),
                ("last_used_at", .optional(use.map { text($0.at) })), ("last_used_network", .optional(use?.network)),
            ])
        }
    }
}
