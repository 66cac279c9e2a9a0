// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension AdminRoutes {
    static let applyRoutes: [Route] = [
        Route("PUT", "config") { routes, request async throws(AdminProblem) in try await routes.apply(request) }
    ]

    /// Brings the registry to the state of a tenants' file; with `dry_run` only says what that would change.
    private func apply(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let file = try request.optionalText("file") ?? "the file"
        // A text that is empty is a file that is empty, which its reader tells by the file's name.
        guard let text = request.body["text"]?.string else { throw .badRequest("the body needs \"text\": a text") }
        let tenants: TenantsFile
        do {
            tenants = try TenantsFile(parsing: text, file: file)
        } catch {
            let count = error.problems.count
            throw AdminProblem(
                status: 422,
                code: "file_invalid",
                message: "nothing was changed: \(count) problem\(count == 1 ? "" : "s") in \(file)",
                details: error.problems.map(\.description)
            )
        }
        try await refuseNameless(tenants, file)
        var run = ApplyRun(isDry: request.body["dry_run"]?.bool == true, by: request.by)
        for organization in tenants.organizations {
            try await apply(organization, &run)
            for app in organization.apps { try await apply(app, of: organization.id, &run) }
        }
        if request.body["prune"]?.bool == true { try await prune(tenants, &run) }
        let answer: [(String, JSONValue)] = [
            ("dry_run", .bool(run.isDry)), ("changes", .texts(run.changes)), run.problems.member,
        ]
        // What would be changed has not been, and nobody needs to wait for it.
        if run.isDry { return AdminAnswer(.object(answer + [("changed", .bool(false))])) }
        return AdminAnswer(.object(try await told(answer, run.lastSequence)))
    }

    /// A new app whose name has no letter that a username may have needs one of its own, before anything is changed.
    private func refuseNameless(_ tenants: TenantsFile, _ file: String) async throws(AdminProblem) {
        for app in tenants.organizations.flatMap(\.apps) where app.username == nil {
            guard let name = app.name, NewNames.username(from: name).isEmpty else { continue }
            let found = try await registryCall { () async throws(RegistryError) in
                try await registry.app(.appID(app.id))
            }
            guard found == nil else { continue }
            throw AdminProblem(
                status: 422,
                code: "file_invalid",
                message: "nothing was changed: app \(app.id.rawValue) of \(file) needs a username",
                details: ["no username can be made from the name \"\(name)\": give username:"]
            )
        }
    }

    private func apply(
        _ wanted: TenantsFile.Organization,
        _ run: inout ApplyRun
    ) async throws(AdminProblem) {
        let found = try await registryCall { () async throws(RegistryError) in
            try await registry.organization(wanted.id)
        }
        let name = wanted.name ?? found?.name ?? wanted.id.rawValue
        guard let found else {
            let event = HistoryEvent("organization_created", [("name", .string(name))])
            run.note("organization \(wanted.id.rawValue)", [event])
            guard !run.isDry else { return }
            let record = OrganizationRecord(id: wanted.id, name: name, createdAt: now())
            let by = run.by
            run.took(
                try await registryCall { () async throws(RegistryError) in
                    try await registry.create(record, by: by, events: [event]).sequence
                }
            )
            return
        }
        guard found.name != name else { return }
        let event = HistoryEvent("name_changed", [("from", .string(found.name)), ("to", .string(name))])
        run.note("organization \(wanted.id.rawValue)", [event])
        guard !run.isDry else { return }
        let by = run.by
        run.took(
            try await registryCall { () async throws(RegistryError) in
                try await registry.change(organization: wanted.id, by: by) { record throws(RegistryError) in
                    record.name = name
                    return [event]
                }.sequence
            }
        )
    }

    private func apply(
        _ wanted: TenantsFile.App,
        of organization: OrganizationID,
        _ run: inout ApplyRun
    ) async throws(AdminProblem) {
        let moment = now()
        let by = run.by
        let found = try await registryCall { () async throws(RegistryError) in
            try await registry.app(.appID(wanted.id))
        }
        if let found, found.organization != organization {
            throw .conflict("taken", "app \(wanted.id.rawValue) belongs to organization \(found.organization.rawValue)")
        }
        let name = wanted.name ?? wanted.username ?? wanted.id.rawValue
        var record =
            found
            ?? AppRecord(
                recordID: NewNames.recordID(),
                appID: wanted.id,
                username: wanted.username ?? NewNames.username(from: name),
                organization: organization,
                name: name,
                createdAt: moment,
                dialects: wanted.dialects ?? [.offlineid]
            )
        var events: [HistoryEvent] = []
        do {
            events = try wanted.bring(&record, now: moment)
        } catch {
            throw AdminProblem(error)
        }
        if found == nil { events.insert(HistoryEvent("app_created", [("app_id", .string(wanted.id.rawValue))]), at: 0) }
        run.note("app \(wanted.id.rawValue)", events)
        guard !run.isDry, !events.isEmpty else { return }
        let made = record
        let told = events
        if found == nil {
            run.took(
                try await registryCall { () async throws(RegistryError) in
                    try await registry.create(made, by: by, events: told).sequence
                }
            )
        } else {
            run.took(
                try await registryCall { () async throws(RegistryError) in
                    try await registry.change(app: .appID(wanted.id), by: by) { record throws(RegistryError) in
                        try wanted.bring(&record, now: moment)
                    }.sequence
                }
            )
        }
    }

    /// Disables what the file does not name; nothing is ever deleted, so that a wrong file can be mended.
    private func prune(_ tenants: TenantsFile, _ run: inout ApplyRun) async throws(AdminProblem) {
        let named = Set(tenants.organizations.flatMap { $0.apps.map(\.id) })
        let by = run.by
        let apps = try await allApps()
        run.problems = apps.problems
        for app in apps.elements where !named.contains(app.appID) && app.isEnabled {
            let event = HistoryEvent("app_disabled", [("reason", .string("pruned"))])
            run.note("app \(app.appID.rawValue)", [event])
            guard !run.isDry else { continue }
            run.took(
                try await registryCall { () async throws(RegistryError) in
                    try await registry.change(app: .record(app.recordID), by: by) { record throws(RegistryError) in
                        record.isEnabled = false
                        return [event]
                    }.sequence
                }
            )
        }
    }
}

/// What one `apply` has done so far.
private struct ApplyRun {
    let isDry: Bool
    let by: String
    private(set) var changes: [String] = []
    /// What `--prune` could not look at.
    var problems: [RegistryProblem] = []
    private(set) var lastSequence: Int?

    init(isDry: Bool, by: String) {
        self.isDry = isDry
        self.by = by
    }

    mutating func note(_ subject: String, _ events: [HistoryEvent]) {
        for event in events {
            let details = event.details.members.map { member in
                var writer = JSONWriter()
                writer.value(member.value)
                return "\(member.name)=\(member.value.string ?? writer.text)"
            }
            changes.append(([subject + ":", event.name] + details).joined(separator: " "))
        }
    }

    mutating func took(_ sequence: Int?) {
        if let sequence { lastSequence = max(lastSequence ?? 0, sequence) }
    }
}
