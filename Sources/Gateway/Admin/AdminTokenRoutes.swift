// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension AdminRoutes {
    static let adminTokenRoutes: [Route] = [
        Route("POST", "admin-tokens") { routes, request async throws(AdminProblem) in
            try await routes.createAdminToken(request)
        },
        Route("GET", "admin-tokens") { routes, _ async throws(AdminProblem) in try await routes.listAdminTokens() },
        Route("DELETE", "admin-tokens/*") { routes, request async throws(AdminProblem) in
            try await routes.revokeAdminToken(request)
        },
    ]

    private static let mostAdminTokens = 256
    private static let longestDays = 366

    /// Makes a token and shows it, this once; only its keyed hash is kept.
    private func createAdminToken(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let name = try request.name(of: "a token")
        let word = try request.text("role")
        guard let role = AdminRole(rawValue: word) else {
            let known = AdminRole.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("there is no role \"\(word)\"; there are \(known)")
        }
        let organization = try await organization(for: role, try request.optionalText("organization"))
        let days = request.body["days"].flatMap { $0 == .null ? nil : $0.integer ?? 0 } ?? 90
        guard (1...Self.longestDays).contains(days) else { throw .badRequest("days is 1 to \(Self.longestDays)") }
        let text = NewNames.adminToken()
        let moment = now()
        let record = AdminTokenRecord(
            id: AdminTokenText.id(in: text) ?? "",
            name: name,
            role: role,
            organization: organization,
            secret: peppers.hash(text.utf8.span, .adminToken, createdAt: moment),
            expiresAt: moment + Int64(days) * 86_400_000,
            by: request.by
        )
        let change = try await changeAdminTokens(request.by) { tokens throws(RegistryError) in
            tokens.removeAll { $0.expiresAt <= moment }
            guard tokens.count < Self.mostAdminTokens else {
                throw .rejected(code: "too_many_tokens", message: "revoke admin tokens that are not used")
            }
            tokens.append(record)
            return [HistoryEvent("admin_token_created", self.details(record) + [("until", self.end(record))])]
        }
        let members: [(String, JSONValue)] = [
            ("message", .string("admin token \(record.id) made")), ("token", .string(text)),
        ]
        return AdminAnswer(.object(try await told(members + describe(record), change)), status: 201)
    }

    private func organization(
        for role: AdminRole,
        _ name: String?
    ) async throws(AdminProblem) -> OrganizationID? {
        switch (role, name) {
        case (.platformAdmin, nil), (.viewer, nil): return nil
        case (.platformAdmin, _): throw .badRequest("a platform-admin is not of one organization")
        case (.organizationAdmin, nil): throw .badRequest("an org-admin needs its \"organization\"")
        case (.organizationAdmin, let name?), (.viewer, let name?):
            let id = OrganizationID(rawValue: name)
            let found = try await registryCall { () async throws(RegistryError) in try await registry.organization(id) }
            guard found != nil else { throw .notFound("there is no organization \"\(name)\"") }
            return id
        }
    }

    private func listAdminTokens() async throws(AdminProblem) -> AdminAnswer {
        let document = try await registryCall { () async throws(RegistryError) in
            try await registry.document(AdminTokensDocument.self).document
        }
        return AdminAnswer(.object([("tokens", .array(document.tokens.map { .object(describe($0)) }))]))
    }

    private func revokeAdminToken(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let id = request.path[1]
        let wasRevoked = try await tells("admin_token_revoked", "id", id, in: RegistryStore.gatewaySubject)
        let change = try await changeAdminTokens(request.by) { tokens throws(RegistryError) in
            guard let place = tokens.firstIndex(where: { $0.id == id }) else {
                if wasRevoked { return [] }
                throw .rejected(code: "token_not_found", message: "there is no admin token \(id)")
            }
            return [HistoryEvent("admin_token_revoked", self.details(tokens.remove(at: place)))]
        }
        let verb = change == nil ? "was revoked already" : "is revoked"
        let members = [("message", JSONValue.string("admin token \(id) \(verb)")), ("id", .string(id))]
        return AdminAnswer(.object(try await told(members, change, promise: Self.refusedFromNow)))
    }

    private func changeAdminTokens(
        _ by: String,
        _ body: (inout [AdminTokenRecord]) throws(RegistryError) -> [HistoryEvent]
    ) async throws(AdminProblem) -> Int? {
        try await registryCall { () async throws(RegistryError) in
            try await registry.change(AdminTokensDocument.self, by: by) { document throws(RegistryError) in
                try body(&document.tokens)
            }.sequence
        }
    }

    private func details(_ record: AdminTokenRecord) -> [(name: String, value: JSONValue)] {
        var details: [(name: String, value: JSONValue)] = [
            ("id", .string(record.id)), ("name", .string(record.name)), ("role", .string(record.role.rawValue)),
        ]
        if let organization = record.organization { details.append(("organization", .string(organization.rawValue))) }
        return details
    }

    private func end(_ record: AdminTokenRecord) -> JSONValue { .string(text(record.expiresAt)) }

    private func describe(_ record: AdminTokenRecord) -> [(String, JSONValue)] {
        [
            ("id", .string(record.id)), ("name", .string(record.name)), ("role", .string(record.role.rawValue)),
            ("organization", .optional(record.organization?.rawValue)), ("by", .string(record.by)),
            ("created_at", .string(text(record.secret.createdAt))), ("expires_at", end(record)),
            ("expired", .bool(record.expiresAt <= now())),
        ]
    }
}
