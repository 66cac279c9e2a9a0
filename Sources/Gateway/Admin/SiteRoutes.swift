// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension AdminRoutes {
    static let siteRoutes: [Route] = [
        Route("GET", "apps/*/origins") { routes, request async throws(AdminProblem) in
            AdminAnswer(.object([("origins", .texts(try await routes.app(request.path[1]).origins))]))
        },
        Route("POST", "apps/*/origins") { routes, request async throws(AdminProblem) in
            try await routes.addOrigin(request)
        },
        Route("DELETE", "apps/*/origins/*") { routes, request async throws(AdminProblem) in
            try await routes.removeOrigin(request)
        },
        Route("POST", "apps/*/origins/check") { routes, request async throws(AdminProblem) in
            try await routes.checkOrigin(request)
        },
        Route("GET", "apps/*/domains") { routes, request async throws(AdminProblem) in
            AdminAnswer(.object([("domains", .texts(try await routes.app(request.path[1]).domains))]))
        },
        Route("POST", "apps/*/domains") { routes, request async throws(AdminProblem) in
            try await routes.addDomain(request)
        },
        Route("DELETE", "apps/*/domains/*") { routes, request async throws(AdminProblem) in
            try await routes.removeDomain(request)
        },
    ]

    private func addOrigin(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let origin = try normalOrigin(try request.text("origin"))
        return try await add(origin, to: \.origins, "origin", request)
    }

    private func removeOrigin(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let origin = try normalOrigin(request.path[3])
        return try await remove(origin, from: \.origins, "origin", request)
    }

    private func addDomain(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let domain = try normalDomain(try request.text("domain"))
        return try await add(domain, to: \.domains, "domain", request)
    }

    private func removeDomain(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let domain = try normalDomain(request.path[3])
        return try await remove(domain, from: \.domains, "domain", request)
    }

    /// More entries than this in one list are a mistake, and would make the record slow to read.
    private static let listLimit = 1000

    private func add(
        _ entry: String,
        to list: sending WritableKeyPath<AppRecord, [String]>,
        _ word: String,
        _ request: AdminRequest
    ) async throws(AdminProblem) -> AdminAnswer {
        try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            guard !record[keyPath: list].contains(entry) else { return [] }
            guard record[keyPath: list].count < Self.listLimit else {
                throw .rejected(code: "too_many", message: "an app lists at most \(Self.listLimit) \(word)s")
            }
            record[keyPath: list].append(entry)
            return [HistoryEvent("\(word)_added", [(word, .string(entry))])]
        } describe: { record, isChanged in
            let verb = isChanged ? "is listed now" : "is listed already"
            return [
                ("message", .string("\(entry) \(verb)")), (word, .string(entry)),
                ("\(word)s", .texts(record[keyPath: list])),
            ]
        }
    }

    private func remove(
        _ entry: String,
        from list: WritableKeyPath<AppRecord, [String]>,
        _ word: String,
        _ request: AdminRequest
    ) async throws(AdminProblem) -> AdminAnswer {
        try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            guard let place = record[keyPath: list].firstIndex(of: entry) else { return [] }
            record[keyPath: list].remove(at: place)
            return [HistoryEvent("\(word)_removed", [(word, .string(entry))])]
        } describe: { record, isChanged in
            let verb = isChanged ? "is not listed any more" : "was not listed"
            return [
                ("message", .string("\(entry) \(verb)")), (word, .string(entry)),
                ("\(word)s", .texts(record[keyPath: list])),
            ]
        }
    }

    /// Says how an origin is read and whether the app lists it, with the command that would list it.
    private func checkOrigin(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let written = try request.text("origin")
        let record = try await app(request.path[1])
        let reading = OriginReading(written)
        let steps = reading.steps.map {
            JSONValue.object([("step", .string($0.step)), ("result", .string($0.result))])
        }
        var members: [(String, JSONValue)] = [("origin", .string(written)), ("steps", .array(steps))]
        switch reading.outcome {
        case .failure(let problem):
            members += [("allowed", .bool(false)), ("reason", .string(problem.sentence)), ("next_steps", .texts([]))]
        case .success(let origin):
            let isListed = record.origins.contains(origin)
            let command = "sallyport origins add \(origin) --app \(record.appID.rawValue)"
            members += [
                ("normalised", .string(origin)), ("allowed", .bool(isListed)),
                ("reason", isListed ? .null : .string("\(origin) is not listed")),
                ("next_steps", .texts(isListed ? [] : [command])),
            ]
        }
        return AdminAnswer(.object(members))
    }

    private func normalOrigin(_ text: String) throws(AdminProblem) -> String {
        switch SiteNormalizer.origin(adding: text) {
        case .success(let origin): return origin
        case .failure(let problem): throw .badRequest("\"\(text)\" is no origin: \(problem.sentence)")
        }
    }

    private func normalDomain(_ text: String) throws(AdminProblem) -> String {
        switch SiteNormalizer.domain(adding: text) {
        case .success(let domain): return domain
        case .failure(let problem): throw .badRequest("\"\(text)\" is no domain: \(problem.sentence)")
        }
    }
}
