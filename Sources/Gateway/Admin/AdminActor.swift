// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

/// Who asks the admin API, and so what it may.
enum AdminActor: Sendable {
    /// Whoever may open the Unix socket.
    case local
    case token(AdminTokenRecord)

    /// Who the history says made a change.
    var name: String {
        switch self {
        case .local: ""
        case .token(let record): "\(record.name) (\(record.id))"
        }
    }
}

extension AdminRoutes {
    /// The holder of the token that an `Authorization` field presents.
    ///
    /// The tokens are read each time: one that is revoked is refused on the next request.
    func actor(presenting authorization: String) async throws(AdminProblem) -> AdminActor {
        guard let text = BearerField.token(authorization: authorization) else {
            throw .notSignedIn("an admin token is needed")
        }
        guard let id = AdminTokenText.id(in: text) else { throw .notSignedIn("this is no admin token") }
        let document = try await registryCall { () async throws(RegistryError) in
            try await registry.document(AdminTokensDocument.self).document
        }
        guard let record = document.tokens.first(where: { $0.id == id }),
            let secret = CompiledSecret(record.secret),
            peppers.matches(secret, .adminToken, message: text.utf8.span)
        else { throw .notSignedIn("this admin token is not known") }
        guard record.expiresAt > now() else { throw .notSignedIn("this admin token has expired") }
        return .token(record)
    }

    /// The request as its actor may make it; throws where it may not.
    func permitted(_ request: AdminRequest) async throws(AdminProblem) -> AdminRequest {
        guard case .token(let token) = request.actor else { return request }
        let isLook = request.method == "GET" || request.path == ["tokens", "inspect"]
        guard isLook || token.role != .viewer else { throw .forbidden("a viewer changes nothing") }
        guard let organization = token.organization else { return request }
        return try await scoped(request, to: organization)
    }

    /// The request of an actor of one organization: others' apps do not exist for it.
    private func scoped(
        _ request: AdminRequest,
        to organization: OrganizationID
    ) async throws(AdminProblem) -> AdminRequest {
        var request = request
        switch (request.path.first, request.path.count) {
        case ("apps", 1) where request.method == "GET":
            request.query["organization"] = organization.rawValue
        case ("apps", 1):
            guard try request.text("organization") == organization.rawValue else { throw .otherOrganization }
        case ("apps", _):
            request.path[1] = try await ownApp(request.path[1], organization)
        case ("organizations", 2...) where request.method == "GET":
            guard request.path[1] == organization.rawValue else { throw .otherOrganization }
        case ("tokens", 2) where request.path[1] == "revoke":
            try await scopeRevocation(&request, to: organization)
        default:
            throw .forbidden("this is for tokens of the whole platform")
        }
        return request
    }

    private func scopeRevocation(
        _ request: inout AdminRequest,
        to organization: OrganizationID
    ) async throws(AdminProblem) {
        // Ids of tokens are one namespace over all organizations and issuers: nobody may guess another's.
        guard try request.optionalText("token_id") == nil else {
            throw .forbidden("a token's id may be another organization's: revoke by app, person, key or device")
        }
        if try request.optionalText("person") != nil {
            guard try request.text("organization") == organization.rawValue else { throw .otherOrganization }
        } else if let key = try request.optionalText("key") {
            let found = try await registryCall { () async throws(RegistryError) in
                try await registry.app(.key(APIKeyID(rawValue: key)))
            }
            guard found?.organization == organization else { throw .otherOrganization }
        } else {
            let app = try await ownApp(try request.text("app"), organization)
            var body = request.body.object ?? JSONObject()
            body.set("app", .string(app))
            request.body = .object(body)
        }
    }

    /// The record id of an app of the organization.
    private func ownApp(_ name: String, _ organization: OrganizationID) async throws(AdminProblem) -> String {
        let isUsername = !name.hasPrefix("app_") && !name.contains("/") && name.utf8.count != 24
        let found = try await app(isUsername ? "\(organization.rawValue)/\(name)" : name)
        guard found.organization == organization else { throw .noApp(name) }
        return found.recordID.rawValue
    }
}

extension AdminProblem {
    static func notSignedIn(_ message: String) -> AdminProblem {
        AdminProblem(
            status: 401,
            code: "not_signed_in",
            message: message,
            nextSteps: ["sallyport admin-tokens create --name NAME --role ROLE", "send Authorization: Bearer TOKEN"]
        )
    }

    static func forbidden(_ message: String) -> AdminProblem {
        AdminProblem(status: 403, code: "forbidden", message: message)
    }

    static let otherOrganization = forbidden("the token is for another organization")
}
