// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension AdminRoutes {
    static let organizationRoutes: [Route] = [
        Route("POST", "organizations") { routes, request async throws(AdminProblem) in
            try await routes.createOrganization(request)
        },
        Route("GET", "organizations") { routes, _ async throws(AdminProblem) in try await routes.listOrganizations() },
        Route("GET", "organizations/*") { routes, request async throws(AdminProblem) in
            try await routes.showOrganization(request)
        },
        Route("PATCH", "organizations/*") { routes, request async throws(AdminProblem) in
            try await routes.switchOrganization(request)
        },
    ]

    private func createOrganization(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let id = OrganizationID(rawValue: try request.text("id"))
        guard id.isWellFormed else {
            throw .badRequest(
                "an organization's id is 1 to 63 lower-case letters, digits and -, not \"\(id.rawValue)\""
            )
        }
        let known = try await registryCall { () async throws(RegistryError) in try await registry.organization(id) }
        if let known {
            let message = "organization \(id.rawValue) exists already"
            return AdminAnswer(.object([("message", .string(message))] + describe(known) + [("changed", .bool(false))]))
        }
        let name = request.body["name"] == nil ? id.rawValue : try request.name(of: "an organization")
        let record = OrganizationRecord(id: id, name: name, createdAt: now())
        let event = HistoryEvent("organization_created", [("name", .string(name))])
        let outcome = try await registryCall { () async throws(RegistryError) in
            try await registry.create(record, by: request.by, events: [event])
        }
        let members: [(String, JSONValue)] = [
            ("message", .string("organization \(id.rawValue) made")),
            ("next_steps", .texts(["sallyport apps create --org \(id.rawValue) --name NAME"])),
        ]
        return AdminAnswer(
            .object(try await told(members + describe(record), outcome.sequence)),
            status: 201
        )
    }

    private func listOrganizations() async throws(AdminProblem) -> AdminAnswer {
        let listing = try await registryCall { () async throws(RegistryError) in try await registry.organizations() }
        let items = listing.elements.map { JSONValue.object(describe($0)) }
        return AdminAnswer(.object([("organizations", .array(items)), listing.problems.member]))
    }

    private func showOrganization(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let id = OrganizationID(rawValue: request.path[1])
        let found = try await registryCall { () async throws(RegistryError) in try await registry.organization(id) }
        guard let record = found else { throw AdminProblem(.organizationNotFound) }
        let apps = try await allApps(of: id)
        let items = apps.elements.map { JSONValue.object(describe($0)) }
        return AdminAnswer(.object(describe(record) + [("apps", .array(items)), apps.problems.member]))
    }

    private func switchOrganization(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let id = OrganizationID(rawValue: request.path[1])
        let enabled = try request.flag("enabled")
        let outcome = try await registryCall { () async throws(RegistryError) in
            try await registry.change(organization: id, by: request.by) { record throws(RegistryError) in
                guard record.isEnabled != enabled else { return [] }
                record.isEnabled = enabled
                return [HistoryEvent(enabled ? "organization_enabled" : "organization_disabled")]
            }
        }
        let state = enabled ? "enabled" : "disabled"
        let verb = outcome.sequence == nil ? "is \(state) already" : "is \(state) now"
        let message = JSONValue.string("organization \(id.rawValue) \(verb)")
        return AdminAnswer(
            .object(try await told([("message", message)] + describe(outcome.record), outcome.sequence))
        )
    }

    /// An organization as answers show it.
    func describe(_ record: OrganizationRecord) -> [(String, JSONValue)] {
        [
            ("id", .string(record.id.rawValue)), ("name", .string(record.name)), ("enabled", .bool(record.isEnabled)),
            ("created_at", .string(text(record.createdAt))),
        ]
    }
}
