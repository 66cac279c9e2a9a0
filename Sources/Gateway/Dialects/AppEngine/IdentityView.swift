// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Encodings
import Store

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
