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

/// An app's record as dialect C shows it (C.6): keys are set or not set, tokens have no hash.
enum IdentityView {
    static func members(of record: AppRecord, uses: [APIKeyID: KeyUse]) -> [(String, JSONValue)] {
        let ios = record.native.ios.first.map { pair in
            JSONValue.object([("teamId", .string(pair.teamID)), ("bundleId", .string(pair.bundleID))])
        }
        let android = record.native.android.first
        return [
            ("sk", .string(record.recordID.rawValue)), ("username", .string(record.username)),
            ("check", .string(record.check.rawValue)), ("revoked", .bool(record.isRevoked)), ("ios", ios ?? .null),
            (
                "android",
                .object([
                    ("packageName", .optional(android?.package)),
                    ("certificateSha256", .texts(android?.sha256 ?? [])),
                    ("keysSet", .bool(record.playKeys != nil)),
                ])
            ), ("web", .object([("allowedDomains", .texts(record.domains))])),
            ("allowDebugTokens", .bool(record.allowsDebugTokens)),
            ("debugTokens", .array(record.debugTokens.map { describe($0, uses) })),
        ]
    }

    /// One debug token without what it is checked by (APP-076).
    static func describe(_ token: DebugTokenRecord, _ uses: [APIKeyID: KeyUse]) -> JSONValue {
        let use = uses[APIKeyID(rawValue: token.id)]
        return .object([
            ("id", .string(token.id)), ("name", .string(token.name)), ("prefix", .string(token.prefix)),
            ("createdAt", .string(InternetTime.text(milliseconds: token.secret.createdAt))),
            ("lastUsedAt", .optional(use.map { InternetTime.text(milliseconds: $0.at) })),
        ])
    }
}

/// A new debug token (APP-075): its text is shown once.
struct NewDebugToken: Sendable {
    let record: DebugTokenRecord
    let text: String

    /// The first characters, which lists show.
    private static let prefixLength = 8
    /// More would be a leak of their own.
    static let most = 50

    init(name: String, peppers: PepperRing, now: Int64) {
        text = NewNames.debugToken()
        record = DebugTokenRecord(
            id: NewNames.debugTokenID(),
            name: name,
            prefix: String(text.prefix(Self.prefixLength)),
            secret: peppers.hash(text.utf8.span, .debugToken, createdAt: now)
        )
    }
}
