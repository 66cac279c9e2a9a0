// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Testing

@testable import Credentials

/// Apps, keys and peppers for the tests of this target; everything is fixed, nothing is random.
enum Fixture {
    static let now: Int64 = 1_793_750_400_000
    static let organization = OrganizationID(rawValue: "acme")
    static let appID = AppID(rawValue: "app_7f3c2a")
    static let listed = "https://shop.example.com"
    static let unlisted = "https://evil.example"

    static func peppers(_ ids: [String] = ["p1"]) throws -> PepperRing {
        try PepperRing(ids.map { id in (id, SecretBytes(Array("pepper \(id), thirty-two bytes or more".utf8).span)) })
    }

    /// The same key for the same seed.
    static func key(_ seed: UInt8) -> (id: APIKeyID, text: String) {
        var next = seed
        return APIKeyText.mint { count in
            (0..<count).map { _ in
                next = next &* 73 &+ 11
                return next
            }
        }
    }

    static func record(_ text: String, id: APIKeyID, peppers: PepperRing) -> APIKeyRecord {
        APIKeyRecord(id: id, name: "server", secret: peppers.hash(text.utf8.span, .apiKey, createdAt: now))
    }

    static func app(_ change: (inout AppRecord) -> Void = { _ in }) throws -> AppRecord {
        var record = AppRecord(
            recordID: RecordID(rawValue: "65f0c0ffee65f0c0ffee65f0"),
            appID: appID,
            username: "acme-web",
            organization: organization,
            name: "Acme website",
            createdAt: now,
            dialects: Dialect.allCases
        )
        record.origins = [listed]
        record.domains = ["shop.example.com"]
        let key = key(1)
        record.keys = [self.record(key.text, id: key.id, peppers: try peppers())]
        change(&record)
        return record
    }
}

// The macros of the tests take no spans, so the calls under test are given texts.
extension App {
    func allowsOrigin(text: String) -> Bool { allowsOrigin(text.utf8.span) }
    func allowsSite(text: String) -> Bool { allowsSite(text.utf8.span) }
    func verify(text: String, with peppers: PepperRing) -> KeyVerdict { verify(text.utf8.span, with: peppers) }
}

extension APIKeyText {
    init?(bytes: [UInt8]) { self.init(parsing: bytes.span) }
}

extension SiteNormalizer {
    static func isNormal(_ text: String) -> Bool { isNormalOrigin(text.utf8.span) }
}

extension PepperRing {
    func matches(_ secret: CompiledSecret, _ purpose: SecretPurpose, text: String) -> Bool {
        matches(secret, purpose, message: text.utf8.span)
    }
}
