// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension AdminRoutes {
    static let appRoutes: [Route] = [
        Route("POST", "apps") { routes, request async throws(AdminProblem) in try await routes.createApp(request) },
        Route("GET", "apps") { routes, request async throws(AdminProblem) in try await routes.listApps(request) },
        Route("GET", "apps/*") { routes, request async throws(AdminProblem) in
            AdminAnswer(routes.status(of: try await routes.app(request.path[1])))
        },
        Route("GET", "apps/*/status") { routes, request async throws(AdminProblem) in
            AdminAnswer(routes.status(of: try await routes.app(request.path[1])))
        },
        Route("PATCH", "apps/*") { routes, request async throws(AdminProblem) in try await routes.switchApp(request) },
    ]

    private func createApp(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let organization = OrganizationID(rawValue: try request.text("organization"))
        let name = try request.name(of: "an app")
        let appID = AppID(rawValue: try request.optionalText("app_id") ?? NewNames.appID())
        guard appID.isWellFormed else {
            throw .badRequest("an App ID is app_ and 1 to 60 letters or digits, not \"\(appID.rawValue)\"")
        }
        let username = try request.optionalText("username") ?? NewNames.username(from: name)
        guard NewNames.isUsername(username) else {
            throw .badRequest(
                "a username is 1 to 63 lower-case letters, digits, - . and _, not \"\(username)\"",
                nextSteps: ["give one: --username U"]
            )
        }
        var dialects: [Dialect] = []
        for word in try request.texts("dialects") {
            guard let dialect = Dialect(rawValue: word) else {
                let known = Dialect.allCases.map(\.rawValue).joined(separator: ", ")
                throw .badRequest("there is no dialect \"\(word)\"; there are \(known)")
            }
            dialects.append(dialect)
        }
        let record = AppRecord(
            recordID: NewNames.recordID(),
            appID: appID,
            username: username,
            organization: organization,
            name: name,
            createdAt: now(),
            dialects: dialects.isEmpty ? [.offlineid] : dialects
        )
        let details: [(name: String, value: JSONValue)] = [
            ("app_id", .string(appID.rawValue)), ("username", .string(username)), ("name", .string(name)),
        ]
        let outcome = try await registryCall { () async throws(RegistryError) in
            try await registry.create(record, by: request.by, events: [HistoryEvent("app_created", details)])
        }
        let steps = record.firstSteps.map { "\($0) --app \(appID.rawValue)" }
        let members: [(String, JSONValue)] = [
            ("message", .string("app \(appID.rawValue) (\(username)) of \(organization.rawValue) made")),
            ("next_steps", .texts(steps)),
        ]
        return AdminAnswer(
            .object(try await told(members + describe(record), outcome.sequence)),
            status: 201
        )
    }

    private func listApps(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let organization = request.query["organization"].map(OrganizationID.init(rawValue:))
        let listing = try await allApps(of: organization)
        let items = listing.elements.map { JSONValue.object(describe($0)) }
        return AdminAnswer(.object([("apps", .array(items)), listing.problems.member]))
    }

    private func switchApp(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let enabled = try request.flag("enabled")
        let state = enabled ? "enabled" : "disabled"
        return try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            guard record.isEnabled != enabled else { return [] }
            record.isEnabled = enabled
            return [HistoryEvent("app_\(state)")]
        } describe: { record, isChanged in
            let verb = isChanged ? "is \(state) now" : "is \(state) already"
            return [("message", .string("app \(record.appID.rawValue) \(verb)"))] + self.describe(record)
        }
    }

    /// An app as lists show it.
    func describe(_ record: AppRecord) -> [(String, JSONValue)] {
        [
            ("app_id", .string(record.appID.rawValue)), ("record_id", .string(record.recordID.rawValue)),
            ("username", .string(record.username)), ("group", .string(OwnToken.group)),
            ("organization", .string(record.organization.rawValue)),
            ("name", .string(record.name)), ("enabled", .bool(record.isEnabled)), ("revoked", .bool(record.isRevoked)),
            ("check", .string(record.check.rawValue)), ("production", .bool(record.isProduction)),
            ("dialects", .texts(record.dialects.map(\.rawValue))), ("created_at", .string(text(record.createdAt))),
        ]
    }
}
