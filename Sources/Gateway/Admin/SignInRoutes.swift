// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

/// What is counted of the sign-ins of an app, and the last ones that failed.
extension AdminRoutes {
    static let signInRoutes: [Route] = [
        Route("GET", "apps/*/sign-ins") { routes, request async throws(AdminProblem) in
            try await routes.listSignIns(request)
        },
        Route("GET", "apps/*/failures") { routes, request async throws(AdminProblem) in
            try await routes.listFailures(request)
        },
    ]

    private func listSignIns(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let record = try await app(request.path[1])
        var count = SignInHistory.days
        if let text = request.query["days"] {
            guard let number = Int(text), (1...SignInHistory.days).contains(number) else {
                throw .badRequest("days is 1 to \(SignInHistory.days)")
            }
            count = number
        }
        let days = try await stored { [count] () async throws(StoreError) in
            try await registry.signInHistory.signIns(of: record.recordID, now: now(), latest: count)
        }
        return AdminAnswer(
            .object([
                (
                    "days",
                    .array(
                        days.map { day in
                            .object(
                                [("date", .string(day.date))]
                                    + SignInMethod.allCases.map { ($0.rawValue, .integer(day.counts[$0] ?? 0)) }
                            )
                        }
                    )
                )
            ])
        )
    }

    private func listFailures(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let record = try await app(request.path[1])
        let faults = try await stored { () async throws(StoreError) in
            try await registry.signInHistory.faults(of: record.recordID)
        }
        let rows = faults.map { fault in
            JSONValue.object([
                ("at", .string(InternetTime.text(milliseconds: fault.at))), ("platform", .string(fault.platform)),
                ("reason", .string(fault.reason)),
            ])
        }
        return AdminAnswer(.object([("failures", .array(rows))]))
    }

    func stored<Value: Sendable>(
        _ call: () async throws(StoreError) -> Value
    ) async throws(AdminProblem) -> Value {
        do {
            return try await call()
        } catch {
            throw AdminProblem(RegistryError.store(error))
        }
    }
}
