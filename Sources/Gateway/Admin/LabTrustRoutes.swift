// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation
package import Credentials
import Encodings
import Store

extension AdminRoutes {
    static let labTrustRoutes: [Route] = [
        Route("PUT", "apps/*/lab-trust") { routes, request async throws(AdminProblem) in
            try await routes.setLabTrust(request)
        }
    ]

    /// For some hours, never for a production app, and worth development only.
    private func setLabTrust(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        guard try request.flag("enabled") else { return try await endLabTrust(request) }
        let hours = request.body["hours"]?.integer ?? 0
        guard (1...LabTrust.longestHours).contains(hours) else {
            throw .badRequest("hours is 1 to \(LabTrust.longestHours)")
        }
        var record = LabTrustRecord(
            until: now() + Int64(hours) * 3_600_000,
            appleRoot: try Self.root(request, "apple_root"),
            androidRoot: try Self.root(request, "android_root")
        )
        record.playKeys = try await labPlayKeys(request)
        let trust = record
        return try await change(app: request.path[1], by: request.by) { app throws(RegistryError) in
            guard !app.isProduction else {
                throw .rejected(
                    code: "application_is_production",
                    message: "lab trust is refused for an app marked production; use an app of its own"
                )
            }
            app.labTrust = trust
            let until = self.text(trust.until)
            return [HistoryEvent("lab_trust_enabled", [("hours", .integer(hours)), ("until", .string(until))])]
        } describe: { app, _ in
            let until = self.text(trust.until)
            return [
                ("message", .string("proofs of the lab count for \(app.appID.rawValue) as development until \(until)")),
                ("lab_trust", self.labTrust(of: app)),
            ]
        }
    }

    /// The lab's keys of Play Integrity tokens, sealed like an app's own; a lab without them plays no such tokens.
    private func labPlayKeys(_ request: AdminRequest) async throws(AdminProblem) -> SealedText? {
        let keys = (
            try request.optionalText("play_decryption_key"), try request.optionalText("play_verification_key")
        )
        guard let decryption = keys.0, let verification = keys.1 else {
            guard keys.0 == nil, keys.1 == nil else {
                throw .badRequest("play_decryption_key and play_verification_key belong together: give both or none")
            }
            return nil
        }
        let trimmed = [decryption, verification].map { String($0.prefix { $0 != "\n" }) }
        return try sealedPlayKeys(trimmed[0], trimmed[1], for: try await app(request.path[1]).recordID)
    }

    private func endLabTrust(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        try await change(app: request.path[1], by: request.by) { app throws(RegistryError) in
            guard app.labTrust != nil else { return [] }
            app.labTrust = nil
            return [HistoryEvent("lab_trust_disabled", [("reason", .string("turned_off"))])]
        } describe: { app, isChanged in
            let verb = isChanged ? "is off now" : "was off already"
            return [
                ("message", .string("lab trust of \(app.appID.rawValue) \(verb)")),
                ("lab_trust", self.labTrust(of: app)),
            ]
        }
    }

    /// A root that will read when a proof comes, or a problem now.
    private static func root(_ request: AdminRequest, _ name: String) throws(AdminProblem) -> String {
        guard let text = request.body[name]?.string, text.utf8.count <= 16_384 else {
            throw .badRequest("\"\(name)\" is a certificate in PEM")
        }
        do {
            guard try TrustAnchor.anchors(pem: text, provenance: .lab).count == 1 else {
                throw AdminProblem.badRequest("\"\(name)\" is one certificate in PEM")
            }
            return text
        } catch {
            throw .badRequest("\"\(name)\" is one certificate in PEM")
        }
    }

    /// Whether a lab's proofs count for an app now, and until when.
    func labTrust(of record: AppRecord) -> JSONValue {
        let until = record.labTrust.flatMap { $0.until > now() && !record.isProduction ? $0.until : nil }
        return .object([("active", .bool(until != nil)), ("until", .optional(until.map(text)))])
    }
}

extension LabTrust {
    /// What an app's record says, or nil if it says none or its roots do not read.
    package init?(_ record: LabTrustRecord?) {
        guard let record else { return nil }
        do {
            self.init(
                anchors: TrustAnchors(
                    apple: try TrustAnchor.anchors(pem: record.appleRoot, provenance: .lab),
                    android: try TrustAnchor.anchors(pem: record.androidRoot, provenance: .lab)
                ),
                until: Moment(milliseconds: record.until)
            )
        } catch {
            return nil
        }
    }
}
