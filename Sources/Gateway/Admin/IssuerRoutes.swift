// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Store

extension AdminRoutes {
    static let issuerRoutes: [Route] = [
        Route("GET", "issuers") { routes, _ async throws(AdminProblem) in routes.listIssuers() }
    ]

    /// The outside issuers whose keys are fetched, with the state of their keys.
    private func listIssuers() -> AdminAnswer {
        let rows = issuers.sources.map { source in
            JSONValue.object([
                ("name", .string(source.name)), ("keys_from", .string(source.address)),
                ("keys", .integer(source.keyCount)), ("fetched_at", .optional(source.set.map { text($0.fetchedAt) })),
                ("age", .string(source.age(at: now()))), ("problem", .optional(source.problem)),
            ])
        }
        return AdminAnswer(.object([("issuers", .array(rows))]))
    }
}
