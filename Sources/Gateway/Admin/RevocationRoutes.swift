// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension AdminRoutes {
    static let revocationRoutes: [Route] = [
        Route("POST", "apps/*/revoke") { routes, request async throws(AdminProblem) in
            try await routes.revokeApp(request)
        },
        Route("POST", "tokens/revoke") { routes, request async throws(AdminProblem) in
            try await routes.revokeTokens(request)
        },
    ]

    /// Stops an app for good: the tokens it holds are answered `app_revoked` on their next request (APP-088).
    private func revokeApp(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let promise = "no token, key or origin of it counts any more"
        return try await change(app: request.path[1], by: request.by, promise: promise) {
            record throws(RegistryError) in
            guard !record.isRevoked else { return [] }
            record.isRevoked = true
            return [HistoryEvent("app_revoked")]
        } describe: { record, isChanged in
            let verb = isChanged ? "is revoked" : "was revoked already"
            return [("message", .string("app \(record.appID.rawValue) \(verb)"))] + self.describe(record)
        }
    }

    /// Tokens of ours and of issuers live 30 days at most; a revocation is kept a day longer.
    private static let longestLife: Int64 = 31 * 86_400_000

    /// One token by its id, or all of an app, person, key or device that were issued before a moment.
    private func revokeTokens(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let target = try await target(of: request)
        let revocation: Revocation
        var details = target.details
        if let id = try request.optionalText("token_id") {
            guard (1...512).contains(id.utf8.count) else { throw .badRequest("a token's id has 1 to 512 bytes") }
            guard target.subject == nil || target.isApp, request.body["before"] == nil else {
                throw .badRequest("a token's id names one token: give no person, key, device or time beside it")
            }
            let end = try moment("expires_at", request, now()) ?? now() + Self.longestLife
            revocation = Revocation(tokens: [.init(id: id, expiresAt: end)])
            details.append(("token_id", .string(id)))
        } else {
            guard let subject = target.subject else {
                throw .badRequest("name a token by its id, or an app, person, key or device")
            }
            // Tokens are dated by the store's clock, and so is what ends them. One more than the moment: what
            // was issued in it ends too.
            let present = try await registryCall { () async throws(RegistryError) in try await registry.now() + 1 }
            let before = try moment("before", request, present) ?? present
            // The tokens of a moment to come are not made yet: a watermark would silently end them too.
            guard before <= present + 1_000 else { throw .badRequest("\"before\" is a moment that has passed") }
            revocation = Revocation(
                marks: [.init(subject: subject, notBefore: before, expiresAt: before + Self.longestLife)]
            )
            details.append(("before", .string(text(before))))
        }
        let sequence = try await registryCall { () async throws(RegistryError) in
            try await registry.revoke(
                revocation,
                app: target.history,
                organization: target.organization,
                by: request.by,
                events: [HistoryEvent("tokens_revoked", details)]
            )
        }
        let members: [(String, JSONValue)] = [("message", .string(target.words(details)))] + details
        return AdminAnswer(
            .object(try await told(members, sequence, promise: "they are refused from the next request on"))
        )
    }

    /// Whose tokens a request is about, and whose history tells of it.
    private func target(of request: AdminRequest) async throws(AdminProblem) -> RevocationTarget {
        if let person = try request.optionalText("person") {
            guard try request.optionalText("app") == nil, try request.optionalText("key") == nil else {
                throw .badRequest("a person belongs to an organization: give \"organization\", no app or key")
            }
            let id = OrganizationID(rawValue: try request.text("organization"))
            let found = try await registryCall { () async throws(RegistryError) in try await registry.organization(id) }
            guard found != nil else { throw .notFound("there is no organization \"\(id.rawValue)\"") }
            return RevocationTarget(
                subject: .person(id, person),
                history: RecordID(rawValue: id.rawValue),
                organization: id,
                details: [("organization", .string(id.rawValue)), ("person", .string(person))]
            )
        }
        if let key = try request.optionalText("key") {
            let id = APIKeyID(rawValue: key)
            let found = try await registryCall { () async throws(RegistryError) in try await registry.app(.key(id)) }
            guard let found else {
                throw .notFound("no app has the key \"\(key)\"", nextSteps: ["sallyport keys list"])
            }
            return RevocationTarget(.key(id), found, [("key_id", .string(key))])
        }
        guard let name = try request.optionalText("app") else {
            guard try request.optionalText("device") == nil else { throw .badRequest("a device needs its \"app\"") }
            return .gateway
        }
        let record = try await app(name)
        if let device = try request.optionalText("device") {
            return RevocationTarget(.device(record.recordID, device), record, [("device", .string(device))])
        }
        return RevocationTarget(.app(record.recordID), record, [])
    }

    /// A moment that the body may name, as `2026-09-17T11:18:57Z` or `now`.
    private func moment(_ name: String, _ request: AdminRequest, _ present: Int64) throws(AdminProblem) -> Int64? {
        guard let text = try request.optionalText(name) else { return nil }
        if text == "now" { return present }
        guard let moment = InternetTime.milliseconds(of: text) else {
            throw .badRequest("\"\(name)\" is a moment such as 2026-09-17T11:18:57Z, or now")
        }
        return moment
    }
}

/// Whose tokens are revoked.
private struct RevocationTarget {
    /// Nil: nobody's in particular, one token by its id.
    var subject: RevocationSubject?
    /// Whose history the event enters: an app's or an organization's.
    var history: RecordID
    var organization: OrganizationID
    var details: [(name: String, value: JSONValue)]

    static let gateway = RevocationTarget(
        subject: nil,
        history: RegistryStore.gatewaySubject,
        organization: OrganizationID(rawValue: ""),
        details: []
    )

    init(
        subject: RevocationSubject?,
        history: RecordID,
        organization: OrganizationID,
        details: [(name: String, value: JSONValue)]
    ) {
        self.subject = subject
        self.history = history
        self.organization = organization
        self.details = details
    }

    init(_ subject: RevocationSubject, _ app: AppRecord, _ more: [(name: String, value: JSONValue)]) {
        self.init(
            subject: subject,
            history: app.recordID,
            organization: app.organization,
            details: [("app_id", .string(app.appID.rawValue))] + more
        )
    }

    var isApp: Bool {
        guard case .app = subject else { return false }
        return true
    }

    func words(_ details: [(name: String, value: JSONValue)]) -> String {
        let what = details.map { "\($0.name) \($0.value.string ?? "")" }.joined(separator: ", ")
        return "tokens of \(what) are revoked"
    }
}
