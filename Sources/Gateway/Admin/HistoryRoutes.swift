// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension AdminRoutes {
    /// History is only ever read: no route changes or removes a row (SAL-017).
    static let historyRoutes: [Route] = [
        Route("GET", "apps/*/history") { routes, request async throws(AdminProblem) in
            try await routes.appHistory(request)
        },
        Route("GET", "organizations/*/history") { routes, request async throws(AdminProblem) in
            try await routes.organizationHistory(request)
        },
        Route("GET", "history") { routes, request async throws(AdminProblem) in try await routes.wholeHistory(request)
        },
    ]

    /// Histories read for the view of everything; beyond it name an app or an organization.
    private static let subjectLimit = 500

    private func appHistory(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let record = try await app(request.path[1])
        return answer(try await rows(of: record, request))
    }

    private func organizationHistory(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        answer(try await rows(of: OrganizationID(rawValue: request.path[1]), request))
    }

    private func wholeHistory(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        var all = RegistryListing<HistoryLine>()
        let organizations = try await registryCall { () async throws(RegistryError) in
            try await registry.organizations()
        }
        all.problems = organizations.problems
        for organization in organizations.elements.prefix(Self.subjectLimit) {
            all.add(try await rows(of: organization.id, request))
        }
        let apps = try await allApps()
        all.problems += apps.problems
        for app in apps.elements.prefix(Self.subjectLimit) { all.add(try await rows(of: app, request)) }
        for (count, words) in [(organizations.elements.count, "organizations"), (apps.elements.count, "apps")]
        where count > Self.subjectLimit {
            let reason = "the histories of \(Self.subjectLimit) are read at once; name one: --org or --app"
            all.problems.append(RegistryProblem("\(count - Self.subjectLimit) more \(words)", reason))
        }
        let limit = limit(request)
        let own = try await registryCall { () async throws(RegistryError) in
            try await registry.gatewayHistory(event: request.query["event"], limit: limit)
        }
        all.add(lines(own, subject: "gateway"))
        all.elements.sort { $0.at > $1.at }
        all.elements = Array(all.elements.prefix(limit))
        return answer(all)
    }

    private func answer(_ lines: RegistryListing<HistoryLine>) -> AdminAnswer {
        AdminAnswer(.object([("events", .array(lines.elements.map(\.json))), lines.problems.member]))
    }

    private func lines(_ rows: RegistryListing<HistoryRow>, subject: String) -> RegistryListing<HistoryLine> {
        RegistryListing(rows.elements.map { line($0, subject: subject) }, problems: rows.problems)
    }

    private func rows(
        of record: AppRecord,
        _ request: AdminRequest
    ) async throws(AdminProblem) -> RegistryListing<HistoryLine> {
        let limit = limit(request)
        let rows = try await registryCall { () async throws(RegistryError) in
            try await registry.history(app: record.recordID, event: request.query["event"], limit: limit)
        }
        return lines(rows, subject: record.appID.rawValue)
    }

    private func rows(
        of id: OrganizationID,
        _ request: AdminRequest
    ) async throws(AdminProblem) -> RegistryListing<HistoryLine> {
        let limit = limit(request)
        let rows = try await registryCall { () async throws(RegistryError) in
            try await registry.history(organization: id, event: request.query["event"], limit: limit)
        }
        return lines(rows, subject: id.rawValue)
    }

    private func limit(_ request: AdminRequest) -> Int {
        min(max(request.query["limit"].flatMap(Int.init) ?? 50, 1), 1000)
    }

    /// A row: the envelope, then the event's own members beside it (OFF-144).
    private func line(_ row: HistoryRow, subject: String) -> HistoryLine {
        var members: [(String, JSONValue)] = [
            ("event", .string(row.event.name)), ("at", .string(text(row.at))), ("by", .string(row.by)),
            ("subject", .string(subject)),
        ]
        for member in row.event.details.members { members.append((member.name, member.value)) }
        let words = row.event.details.members.map { member in
            var writer = JSONWriter()
            writer.value(member.value)
            return "\(member.name)=\(member.value.string ?? writer.text)"
        }
        members.append(("summary", .string(words.joined(separator: " "))))
        return HistoryLine(at: row.at, json: .object(members))
    }
}

extension RegistryListing {
    fileprivate mutating func add(_ other: RegistryListing) {
        elements += other.elements
        problems += other.problems
    }
}

/// One row, ready to be sorted among those of other subjects.
private struct HistoryLine: Sendable {
    let at: Int64
    let json: JSONValue
}
