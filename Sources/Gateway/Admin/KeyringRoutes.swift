// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension AdminRoutes {
    static let keyringRoutes: [Route] = [
        Route("GET", "keyring") { routes, _ async throws(AdminProblem) in try await routes.listKeyring() },
        Route("POST", "keyring/rotate") { routes, request async throws(AdminProblem) in
            try await routes.rotateKeyring(request)
        },
    ]

    private func listKeyring() async throws(AdminProblem) -> AdminAnswer {
        let signing = try await registryCall { () async throws(RegistryError) in
            try await registry.document(SigningDocument.self).document
        }
        let document = try await registryCall { () async throws(RegistryError) in
            try await registry.document(KeyringDocument.self).document
        }
        let uses = try await registryCall { () async throws(RegistryError) in try await keyring.uses() }
        let nodes = keyring.nodes.map { node in
            JSONValue.object([
                ("node", .string(node.node)), ("seals", .texts(node.seals)), ("peppers", .texts(node.peppers)),
                ("here", .bool(node.node == keyring.node)),
            ])
        }
        return AdminAnswer(
            .object([
                ("signing", .array(describe(signing.keys))),
                ("seal", atRest(.seal, document, uses.sealed)),
                ("pepper", atRest(.pepper, document, uses.hashed)),
                ("nodes", .array(nodes)), ("problem", .optional(keyring.problem)), uses.problems.member,
            ])
        )
    }

    private func describe(_ records: [SigningKeyRecord]) -> [JSONValue] {
        let moment = now()
        let living = records.filter { $0.signsFrom <= moment && ($0.verifiesUntil ?? .max) > moment }
        return records.map { record in
            let signer = living.first { $0.algorithm == record.algorithm }
            let state =
                record == signer ? "signs" : record.signsFrom > moment ? "published" : "verifies"
            return .object([
                ("id", .string(record.id)), ("algorithm", .string(record.algorithm.rawValue)),
                ("state", .string(state)), ("created_at", .string(text(record.createdAt))),
                ("signs_from", .string(text(record.signsFrom))),
                ("verifies_until", .optional(record.verifiesUntil.map(text))),
                ("seal", .string(record.sealed.key)),
            ])
        }
    }

    /// The keys of one kind that are held here or still named: `uses` counts what names each.
    private func atRest(_ kind: RestKey, _ document: KeyringDocument, _ uses: [String: Int]) -> JSONValue {
        let held = kind.ids(of: keyring.held)
        let others = uses.keys.filter { !held.contains($0) }.sorted()
        let current = kind.current(document)
        let keys = (held + others).map { id in
            let state =
                id == current ? "in use" : document.retired.contains(id) ? "retired" : "waits for keyring rotate"
            return JSONValue.object([
                ("id", .string(id)), ("state", .string(held.contains(id) ? state : "missing")),
                ("uses", .integer(uses[id] ?? 0)),
            ])
        }
        let old = uses.filter { $0.key != current }.values.reduce(0, +)
        return .object([
            ("current", .optional(current)), ("keys", .array(keys)), ("outdated", .integer(old)),
        ])
    }

    private func rotateKeyring(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let what = try request.optionalText("what") ?? "signing"
        if let kind = RestKey(rawValue: what) { return try await rotate(kind, request) }
        guard what == "signing" else { throw .badRequest("what is signing, seal or pepper, not \"\(what)\"") }
        if let problem = keyring.problem { throw .conflict("keys_unusable", problem) }
        let change = try await registryCall { () async throws(RegistryError) in
            try await keyring.rotateSigning(by: request.by)
        }
        let made = change.document.keys.first
        let message = made.map { "key \($0.id) is published now and signs from \(text($0.signsFrom))" }
        let members: [(String, JSONValue)] = [
            ("message", .optional(message)), ("id", .optional(made?.id)),
            ("signs_from", .optional(made.map { text($0.signsFrom) })),
            ("signing", .array(describe(change.document.keys))),
        ]
        return AdminAnswer(.object(try await told(members, change.sequence)))
    }

    private func rotate(_ kind: RestKey, _ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let rotation = try await registryCall { () async throws(RegistryError) in
            try await keyring.rotate(kind, by: request.by)
        }
        switch rotation {
        case .switched(let id, let sequence):
            let work =
                kind == .seal
                ? "what is sealed with others is sealed anew now"
                : "hashes of others verify until their keys and secrets are made anew or used"
            let members: [(String, JSONValue)] = [
                ("message", .string("the \(kind.words) \(id) is in use now; \(work)")), ("id", .string(id)),
                ("switched", .bool(true)), ("next_steps", .texts(["sallyport keyring list"])),
            ]
            return AdminAnswer(.object(try await told(members, sequence)))
        case .waiting(let id, let place, let nodes, let isNew):
            let made = isNew ? "the \(kind.words) \(id) was made and is not in use yet" : "\(id) is not in use yet"
            return AdminAnswer(
                .object([
                    ("message", .string("\(made): \(nodes.joined(separator: ", ")) do not hold it")),
                    ("id", .string(id)), ("switched", .bool(false)), ("waiting_for", .texts(nodes)),
                    (
                        "next_steps",
                        .texts(["copy \(place) to these nodes", "sallyport keyring rotate --\(kind.rawValue)"])
                    ),
                    ("changed", .bool(isNew)), ("confirmed", .bool(false)),
                ])
            )
        }
    }
}
