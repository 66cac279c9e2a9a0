// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Encodings
import Store

extension AdminRoutes {
    static let playRoutes: [Route] = [
        Route("GET", "apps/*/play-keys") { routes, request async throws(AdminProblem) in
            AdminAnswer(.object(routes.playKeys(of: try await routes.app(request.path[1]))))
        },
        Route("PUT", "apps/*/play-keys") { routes, request async throws(AdminProblem) in
            try await routes.setPlayKeys(request)
        },
        Route("DELETE", "apps/*/play-keys") { routes, request async throws(AdminProblem) in
            try await routes.removePlayKeys(request)
        },
    ]

    /// Both keys, or a service account, or all three; what is not sent stays (APP-029).
    private func setPlayKeys(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let record = try await app(request.path[1]).recordID
        let keys = try sealedKeys(request, for: record)
        let account = try sealedAccount(request, for: record)
        guard keys != nil || account != nil else {
            throw .badRequest("the body needs decryption_key and verification_key, or service_account")
        }
        return try await change(app: request.path[1], by: request.by) { app throws(RegistryError) in
            var events: [HistoryEvent] = []
            if let keys {
                app.playKeys = keys
                events.append(HistoryEvent("play_keys_set"))
            }
            if let account {
                app.playAccount = account
                events.append(HistoryEvent("play_account_set"))
            }
            return events
        } describe: { app, _ in
            [("message", .string("kept sealed; they are never shown again"))] + self.playKeys(of: app)
        }
    }

    private func removePlayKeys(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        try await change(app: request.path[1], by: request.by) { app throws(RegistryError) in
            var events: [HistoryEvent] = []
            if app.playKeys != nil { events.append(HistoryEvent("play_keys_removed")) }
            if app.playAccount != nil { events.append(HistoryEvent("play_account_removed")) }
            app.playKeys = nil
            app.playAccount = nil
            return events
        } describe: { app, isChanged in
            [("message", .string(isChanged ? "removed" : "there were none"))] + self.playKeys(of: app)
        }
    }

    /// The two keys, read as such before they are sealed: a mistyped one is found now and not at a sign-in.
    private func sealedKeys(_ request: AdminRequest, for app: RecordID) throws(AdminProblem) -> SealedText? {
        let decryption = try request.optionalText("decryption_key")
        let verification = try request.optionalText("verification_key")
        if decryption == nil, verification == nil { return nil }
        guard let decryption, let verification else {
            throw .badRequest("to set or change the keys both are sent: decryption_key and verification_key")
        }
        return try sealedPlayKeys(decryption, verification, for: app)
    }

    /// The two keys sealed for `app`, or a problem that names the wrong one and not its value.
    func sealedPlayKeys(
        _ decryption: String,
        _ verification: String,
        for app: RecordID
    ) throws(AdminProblem) -> SealedText {
        let seals = try seals()
        do {
            _ = try PlayIntegrityKeys(decryptionKey: decryption, verificationKey: verification)
            return try PlaySecrets.seal(
                decryptionKey: decryption,
                verificationKey: verification,
                for: app,
                with: seals
            )
        } catch PlayIntegrityKeys.ParseError.decryptionKey {
            throw .badRequest("decryption_key is not the base64 of 32 bytes that Play Console shows")
        } catch PlayIntegrityKeys.ParseError.verificationKey {
            throw .badRequest("verification_key is not the base64 of a P-256 public key that Play Console shows")
        } catch {
            throw AdminProblem(status: 500, code: "not_sealed", message: "the keys could not be sealed")
        }
    }

    private func seals() throws(AdminProblem) -> SealingRing {
        guard let seals = keyring.sealing else {
            throw AdminProblem(status: 503, code: "keys_unusable", message: "this node has no sealing key to use")
        }
        return seals
    }

    private func sealedAccount(_ request: AdminRequest, for app: RecordID) throws(AdminProblem) -> SealedText? {
        guard let text = try request.optionalText("service_account") else { return nil }
        let seals = try seals()
        do {
            _ = try ServiceAccount(parsing: Array(text.utf8))
            return try PlaySecrets.seal(account: Array(text.utf8), for: app, with: seals)
        } catch ServiceAccount.ParseError.notJSON {
            throw .badRequest("service_account is not the JSON of a service account's key file")
        } catch ServiceAccount.ParseError.member(let member) {
            throw .badRequest("service_account: \"\(member)\" is missing or wrong")
        } catch {
            throw AdminProblem(status: 500, code: "not_sealed", message: "the account could not be sealed")
        }
    }

    /// Set or not set: all that is ever told of them.
    func playKeys(of record: AppRecord) -> [(String, JSONValue)] {
        [
            ("keys_set", .bool(record.playKeys != nil)),
            ("service_account_set", .bool(record.playAccount != nil)),
        ]
    }
}
