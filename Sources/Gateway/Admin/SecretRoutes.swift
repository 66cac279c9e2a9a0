// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension AdminRoutes {
    static let secretRoutes: [Route] = [
        Route("POST", "apps/*/secret/rotate") { routes, request async throws(AdminProblem) in
            try await routes.rotateSecret(request)
        }
    ]

    /// Makes an app's secret anew and shows it, this once; the old one stops at once, held tokens go on (APP-091).
    private func rotateSecret(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let secret = NewNames.secret()
        let hash = peppers.hash(secret.utf8.span, .appSecret, createdAt: now())
        let promise = "the old one is refused from the next request on"
        var isFirst = false
        let answer = try await change(app: request.path[1], by: request.by, promise: isFirst ? nil : promise) {
            record throws(RegistryError) in
            guard !record.isRevoked else {
                throw .rejected(code: "app_revoked", message: "a revoked app has no secret; make another app")
            }
            isFirst = record.secret == nil
            record.secret = hash
            return [HistoryEvent(isFirst ? "secret_created" : "secret_rotated")]
        } describe: { record, _ in
            let verb = isFirst ? "made" : "made anew"
            return [
                ("message", .string("the secret of \(record.appID.rawValue) was \(verb)")),
                ("secret", .string(secret)), ("app_id", .string(record.appID.rawValue)),
                ("username", .string(record.username)), ("created_at", .string(self.text(hash.createdAt))),
                ("warnings", .texts(self.secretWarnings(record))),
            ]
        }
        return AdminAnswer(answer.body, status: 201)
    }

    private func secretWarnings(_ record: AppRecord) -> [String] {
        record.check == .enforce ? ["the check of the app is enforce: its secret is refused"] : []
    }
}
