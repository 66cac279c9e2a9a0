// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Encodings

/// A verdict in the words of the shared vectors, whatever kind of proof it is on.
package struct ProofJudgement: Sendable, Equatable {
    /// `accepted` or `refused`; `hardware`, `degraded` or `refused`; `pass`, `degraded` or `fail`.
    package let verdict: String
    /// The deciding reason.
    package let reason: AttestationReason?
    /// Every reason that was found.
    package let reasons: [AttestationReason]
    /// What was read from the proof, for people and for comparison.
    package let facts: JSONObject

    /// The judgement of an attestation.
    package init(_ outcome: AppAttestationVerdict) {
        switch outcome {
        case .refused(let reason):
            self.init(verdict: "refused", reasons: [reason], facts: JSONObject())
        case .accepted(let key):
            var facts = JSONObject()
            facts.set("environment", .string(key.environment.rawValue))
            facts.set("counter", .number(JSONNumber(0)))
            facts.set("public_key", .string(Base64.encode(key.point)))
            facts.set("app", Self.app(key.app))
            if !key.extensions.entries.isEmpty { facts.set("extensions", Self.extensions(key.extensions)) }
            self.init(verdict: "accepted", reasons: [], facts: facts)
        }
    }

    /// The judgement of an assertion.
    package init(_ outcome: AppAssertionVerdict) {
        switch outcome {
        case .refused(let reason):
            self.init(verdict: "refused", reasons: [reason], facts: JSONObject())
        case .accepted(let counter, let app, let extensions):
            var facts = JSONObject()
            facts.set("counter", .number(JSONNumber(Int(counter))))
            facts.set("app", Self.app(app))
            if !extensions.entries.isEmpty { facts.set("extensions", Self.extensions(extensions)) }
            self.init(verdict: "accepted", reasons: [], facts: facts)
        }
    }

    /// The judgement of an Android chain.
    package init(_ outcome: KeyAttestationVerdict) {
        var facts = JSONObject()
        if let description = outcome.description {
            var info = JSONObject()
            info.set("attestation_version", description.version.map { .number(JSONNumber($0)) } ?? .null)
            info.set(
                "attestation_security_level",
                .number(JSONNumber(Int(description.attestationLevel.rawValue)))
            )
            info.set("keymint_security_level", .number(JSONNumber(Int(description.keyLevel.rawValue))))
            let application = description.application
            info.set("packages", .array((application?.packages ?? []).map { .string($0) }))
            info.set("signature_digests", .array((application?.signers ?? []).map { .string(Hex.encode($0)) }))
            if let root = description.rootOfTrust {
                info.set("device_locked", .bool(root.isLocked))
                info.set("verified_boot_state", .string(Self.word(root.bootState)))
            }
            facts.set("info", .object(info))
        }
        self.init(verdict: outcome.trust.rawValue, reasons: outcome.reasons, facts: facts)
    }

    /// The judgement of a Play Integrity token.
    package init(_ outcome: IntegrityVerdict) {
        var facts = JSONObject()
        facts.set("stage", .string(outcome.stage.rawValue))
        self.init(verdict: outcome.trust.rawValue, reasons: outcome.reasons, facts: facts)
    }

    private init(verdict: String, reasons: [AttestationReason], facts: JSONObject) {
        self.verdict = verdict
        self.reasons = reasons
        self.facts = facts
        reason = reasons.first
    }

    /// `{"verdict": …, "reason": …, "reasons": […]}` and what was read, on one line.
    package var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("verdict", verdict)
        writer.name("reason")
        writer.value(reason.map { .string($0.rawValue) } ?? .null)
        writer.member("reasons", reasons.map(\.rawValue))
        for fact in facts.members {
            writer.name(fact.name)
            writer.value(fact.value)
        }
        writer.endObject()
        return writer.text
    }

    private static func word(_ state: VerifiedBootState) -> String {
        switch state {
        case .verified: "VERIFIED"
        case .selfSigned: "SELF_SIGNED"
        case .unverified: "UNVERIFIED"
        case .failed: "FAILED"
        }
    }

    private static func app(_ app: AppleApp) -> JSONValue {
        var pair = JSONObject()
        pair.set("team_id", .string(app.teamID))
        pair.set("bundle_id", .string(app.bundleID))
        return .object(pair)
    }

    private static func extensions(_ extensions: AppAttestExtensions) -> JSONValue {
        var values = JSONObject()
        for entry in extensions.entries {
            guard let name = entry.key.text else { continue }
            values.set(name, .string(entry.value.text ?? "hex:" + Hex.encode(entry.value.bytes ?? entry.value.encoded)))
        }
        return .object(values)
    }
}
