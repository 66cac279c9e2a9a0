// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Encodings
import Store

/// The identity of an app of dialect C as it is saved (dialects.md C.6): parts that are not sent stay.
struct IdentityForm: Sendable {
    /// Why a save fails; nothing of it is kept then.
    struct Fault: Error, Equatable {
        let sentence: String
    }

    /// What the Android part says.
    struct Android: Equatable, Sendable {
        let package: String?
        let fingerprints: [String]?
        /// Both keys as the Play Console shows them; nil: none was sent, or empty ones.
        let keys: Keys?
    }

    /// The two Play keys; they are replaced together (APP-029).
    struct Keys: Equatable, Sendable {
        let decryption: String
        let verification: String
    }

    let ios: IOSIdentity?
    let android: Android?
    let domains: [String]?
    let allowsDebugTokens: Bool?

    init(_ body: JSONValue) throws(Fault) {
        ios = try Self.ios(Self.part("ios", of: body))
        android = try Self.android(Self.part("android", of: body))
        domains = try Self.domains(Self.part("web", of: body))
        switch body["allowDebugTokens"] {
        case nil, .null: allowsDebugTokens = nil
        case .bool(let allows): allowsDebugTokens = allows
        default: throw Fault(sentence: "allowDebugTokens is true or false.")
        }
    }

    private static func part(_ name: String, of body: JSONValue) throws(Fault) -> JSONValue? {
        guard let value = body[name], value != .null else { return nil }
        guard value.object != nil else { throw Fault(sentence: "\(name) is an object.") }
        return value
    }

    private static func ios(_ part: JSONValue?) throws(Fault) -> IOSIdentity? {
        guard let part else { return nil }
        guard let team = try text("teamId", of: part), let bundle = try text("bundleId", of: part) else {
            throw Fault(sentence: "ios needs teamId and bundleId.")
        }
        guard NativeNames.isTeamID(team) else { throw Fault(sentence: "\"\(team)\" is no Team ID.") }
        guard NativeNames.isBundleID(bundle) else { throw Fault(sentence: "\"\(bundle)\" is no bundle ID.") }
        return IOSIdentity(bundleID: bundle, teamID: team)
    }

    private static func android(_ part: JSONValue?) throws(Fault) -> Android? {
        guard let part else { return nil }
        let package = try text("packageName", of: part)
        if let package, !NativeNames.isBundleID(package) { throw Fault(sentence: "\"\(package)\" is no package name.") }
        var fingerprints: [String]?
        if let list = part["certificateSha256"], list != .null {
            guard let elements = list.array else { throw Fault(sentence: "certificateSha256 is a list.") }
            var known: [String] = []
            for element in elements {
                guard let text = element.string, let fingerprint = NativeNames.fingerprint(text) else {
                    throw Fault(sentence: "certificateSha256 holds something that is no SHA-256 fingerprint.")
                }
                known.append(fingerprint)
            }
            fingerprints = known
        }
        let decryption = try text("decryptionKey", of: part)
        let verification = try text("verificationKey", of: part)
        var keys: Keys?
        if decryption != nil || verification != nil {
            guard let decryption, let verification else {
                throw Fault(sentence: "To change the Play keys both are sent: decryptionKey and verificationKey.")
            }
            keys = Keys(decryption: decryption, verification: verification)
        }
        return Android(package: package, fingerprints: fingerprints, keys: keys)
    }

    private static func domains(_ part: JSONValue?) throws(Fault) -> [String]? {
        guard let list = part?["allowedDomains"], list != .null else { return nil }
        guard let elements = list.array else { throw Fault(sentence: "allowedDomains is a list.") }
        var domains: [String] = []
        for element in elements {
            guard let text = element.string else { throw Fault(sentence: "allowedDomains is a list of texts.") }
            switch SiteNormalizer.domain(adding: text) {
            case .success(let domain): if !domains.contains(domain) { domains.append(domain) }
            case .failure(let problem):
                throw Fault(sentence: "\"\(text)\" is not a website address: \(problem.sentence)")
            }
        }
        return domains
    }

    /// A non-empty text; an empty one counts as not sent.
    private static func text(_ name: String, of part: JSONValue) throws(Fault) -> String? {
        guard let value = part[name], value != .null else { return nil }
        guard let text = value.string else { throw Fault(sentence: "\(name) is a text.") }
        return text.isEmpty ? nil : text
    }

    /// Saves it in `record`; `sealed` are the Play keys, where some were sent.
    func apply(to record: inout AppRecord, sealed: SealedText?) -> [HistoryEvent] {
        let before = record
        if let ios { record.native.ios = [ios] }
        if let android {
            let kept = record.native.android.first
            if let package = android.package ?? kept?.package {
                let fingerprints = android.fingerprints ?? (kept?.package == package ? kept?.sha256 : nil) ?? []
                record.native.android = [AndroidIdentity(package: package, sha256: fingerprints)]
            }
        }
        if let sealed { record.playKeys = sealed }
        if let domains { record.domains = domains }
        if let allowsDebugTokens { record.allowsDebugTokens = allowsDebugTokens }
        guard record != before else { return [] }
        var parts: [String] = []
        if record.native.ios != before.native.ios { parts.append("ios") }
        if record.native.android != before.native.android || sealed != nil { parts.append("android") }
        if record.domains != before.domains { parts.append("web") }
        if record.allowsDebugTokens != before.allowsDebugTokens { parts.append("allowDebugTokens") }
        return [HistoryEvent("identity_changed", [("parts", .texts(parts))])]
    }
}
