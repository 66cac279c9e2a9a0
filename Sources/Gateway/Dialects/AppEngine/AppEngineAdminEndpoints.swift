// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Encodings
import HTTP
import Store
import Transport

/// The administrators' endpoints of dialect C (C.6, C.7): a group of its own, so that a public
/// listener has none of them.
enum AppEngineAdminEndpoints {
    static let all: [LocalEndpoint] = [
        endpoint("PUT", "/profile/app/{id}/identity") { admin async throws(AppEngineRefusal) in
            try await admin.saveIdentity()
        },
        endpoint("POST", "/profile/app/{id}/debug-token") { admin async throws(AppEngineRefusal) in
            try await admin.createDebugToken()
        },
        endpoint("DELETE", "/profile/app/{id}/debug-token/{token}") { admin async throws(AppEngineRefusal) in
            try await admin.deleteDebugToken()
        },
    ]

    private static func endpoint(
        _ method: String,
        _ path: PathPattern,
        _ answer: @escaping @Reactor @Sendable (AppEngineAdministration) async throws(AppEngineRefusal) -> [UInt8]
    ) -> LocalEndpoint {
        LocalEndpoint(
            .appengineAdmin,
            method,
            path,
            mostBytes: SignInBody.mostBytes,
            isBrowserFacing: false
        ) { request, worker in
            do throws(AppEngineRefusal) {
                let body = try await answer(AppEngineAdministration(request: request, worker: worker))
                return .answer(.json(200, body), app: nil)
            } catch {
                return .answer(error.answer(to: request), app: nil, reason: error.reason ?? error.code)
            }
        }
    }
}

/// One administrator's call about one app.
///
/// Isolated to the Reactor.
@Reactor
struct AppEngineAdministration {
    let request: LocalRequest
    let worker: Worker

    // MARK: The three calls

    func saveIdentity() async throws(AppEngineRefusal) -> [UInt8] {
        let (record, by) = try await open()
        let form: IdentityForm
        do {
            form = try IdentityForm(try body())
        } catch let fault as IdentityForm.Fault {
            throw .form(fault.sentence)
        } catch let refusal as AppEngineRefusal {
            throw refusal
        } catch {
            throw .away
        }
        let sealed = try form.android?.keys.map { keys throws(AppEngineRefusal) in try seal(keys, record.recordID) }
        let (changed, confirmation) = try await change(record, by) { record throws(RegistryError) in
            form.apply(to: &record, sealed: sealed)
        }
        let ids = changed.debugTokens.map { APIKeyID(rawValue: $0.id) }
        let uses = try await stored { () async throws(RegistryError) in
            ids.isEmpty ? [:] : try await worker.state.registry.uses(of: ids)
        }
        return Self.bytes(IdentityView.members(of: changed, uses: uses) + confirmation.pendingMembers)
    }

    func createDebugToken() async throws(AppEngineRefusal) -> [UInt8] {
        let (record, by) = try await open()
        guard let name = try body()["name"]?.string, !name.isEmpty else { throw .form("name is required.") }
        guard NewNames.isName(name) else { throw .form("name has \(NewNames.nameRule).") }
        let made = NewDebugToken(name: name, peppers: worker.state.peppers, now: request.now)
        let (_, confirmation) = try await change(record, by) { record throws(RegistryError) in
            guard record.debugTokens.count < NewDebugToken.most else {
                throw .rejected(
                    code: "too_many_tokens",
                    message: "An app has at most \(NewDebugToken.most) debug tokens."
                )
            }
            record.debugTokens.append(made.record)
            return [HistoryEvent("debug_token_created", [("id", .string(made.record.id)), ("name", .string(name))])]
        }
        return Self.bytes(
            [
                ("id", .string(made.record.id)), ("name", .string(name)), ("token", .string(made.text)),
            ] + confirmation.pendingMembers
        )
    }

    func deleteDebugToken() async throws(AppEngineRefusal) -> [UInt8] {
        let (record, by) = try await open()
        let id = request.parameters["token"] ?? ""
        guard let token = record.debugTokens.first(where: { $0.id == id }) else { throw .debugTokenNotFound }
        let (_, confirmation) = try await change(record, by) { record throws(RegistryError) in
            record.debugTokens.removeAll { $0.id == id }
            return [HistoryEvent("debug_token_deleted", [("id", .string(id)), ("name", .string(token.name))])]
        }
        return Self.bytes([("id", .string(id)), ("deleted", .bool(true))] + confirmation.pendingMembers)
    }

    // MARK: Who asks, and about what

    /// The app of the path's record id, for an administrator of its organization; and who that is.
    private func open() async throws(AppEngineRefusal) -> (AppRecord, by: String) {
        let organizations = request.values(.orgID)
        guard organizations.count == 1, let organization = organizations.first, !organization.isEmpty else {
            throw .missingOrganization
        }
        let by = try await administrator(of: OrganizationID(rawValue: organization))
        // The record id and no other name (APP-102).
        let id = request.parameters["id"] ?? ""
        guard id.utf8.count == 24, id.utf8.allSatisfy(\.isLowerHex) else { throw .appNotFound }
        let found = try await stored { () async throws(RegistryError) in
            try await worker.state.registry.app(.record(RecordID(rawValue: id)))
        }
        guard let record = found, record.organization.rawValue == organization, record.dialects.contains(.appengine)
        else { throw .appNotFound }
        return (record, by)
    }

    /// The administrator whose token the request bears (APP-105); asked anew on every call.
    private func administrator(of organization: OrganizationID) async throws(AppEngineRefusal) -> String {
        let fields = request.values(.authorization)
        guard fields.count == 1, let text = BearerField.token(authorization: fields[0]) else {
            throw .missingAuthorization
        }
        guard let id = AdminTokenText.id(in: text) else { throw .notAdministrator }
        let tokens = try await stored { () async throws(RegistryError) in
            try await worker.state.registry.document(AdminTokensDocument.self).document.tokens
        }
        guard let token = tokens.first(where: { $0.id == id }), let secret = CompiledSecret(token.secret),
            worker.state.peppers.matches(secret, .adminToken, message: text.utf8.span)
        else { throw .notAdministrator }
        guard token.expiresAt > request.now else { throw .adminTokenExpired }
        guard token.role != .viewer, token.organization == nil || token.organization == organization else {
            throw .notAdministrator
        }
        return "\(token.name) (\(token.id))"
    }

    // MARK: Parts

    private func body() throws(AppEngineRefusal) -> JSONValue {
        do {
            return try FormBody(request).value
        } catch {
            throw AppEngineRefusal(error)
        }
    }

    private func seal(_ keys: IdentityForm.Keys, _ app: RecordID) throws(AppEngineRefusal) -> SealedText {
        guard let seals = worker.proofs.seals else { throw .away }
        do {
            _ = try PlayIntegrityKeys(decryptionKey: keys.decryption, verificationKey: keys.verification)
        } catch {
            throw .form("decryptionKey and verificationKey are not the keys that the Play Console shows.")
        }
        do {
            return try PlaySecrets.seal(
                decryptionKey: keys.decryption,
                verificationKey: keys.verification,
                for: app,
                with: seals
            )
        } catch {
            throw .away
        }
    }

    /// Writes a change and waits until every worker has applied it.
    private func change(
        _ record: AppRecord,
        _ by: String,
        _ body: (inout AppRecord) throws(RegistryError) -> [HistoryEvent]
    ) async throws(AppEngineRefusal) -> (AppRecord, Confirmation) {
        let registry = worker.state.registry
        return try await stored { () async throws(RegistryError) in
            let outcome = try await registry.change(app: .record(record.recordID), by: by, body)
            guard let sequence = outcome.sequence else { return (outcome.record, .confirmed) }
            return (
                outcome.record, try await registry.waitApplied(sequence: sequence, timeout: ConfirmationWait.time)
            )
        }
    }

    private func stored<Value: Sendable>(
        _ call: () async throws(RegistryError) -> Value
    ) async throws(AppEngineRefusal) -> Value {
        do {
            return try await call()
        } catch {
            if case .rejected(_, let message) = error { throw .form(message) }
            throw .away
        }
    }

    private static func bytes(_ members: [(String, JSONValue)]) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.value(.object(members))
        return json.bytes
    }
}

extension AppEngineRefusal {
    /// 401: nobody says who asks.
    static let missingAuthorization = AppEngineRefusal(
        code: "missing_authorization_header",
        status: 401,
        sentence:
            "An admin token is required. To make one: sallyport admin-tokens create --name <name> --role org-admin"
    )
    /// 401: the admin token is over.
    static let adminTokenExpired = AppEngineRefusal(
        code: "token_expired",
        status: 401,
        sentence:
            "The admin token has expired. To make another: sallyport admin-tokens create --name <name> --role org-admin"
    )
    /// 403: whoever asks is no administrator of this organization.
    static let notAdministrator = AppEngineRefusal(
        code: "forbidden",
        status: 403,
        sentence: "This needs an administrator of the organization. Send the token of one."
    )
    /// 404: the app has no such debug token.
    static let debugTokenNotFound = AppEngineRefusal(
        code: "DEBUG_TOKEN_NOT_FOUND",
        status: 404,
        sentence: "The app has no such debug token. To see them: sallyport debug-tokens list"
    )
}
