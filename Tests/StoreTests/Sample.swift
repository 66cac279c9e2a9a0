// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Transport

@testable import Store

/// Records for tests.

/// Records for tests.
enum Sample {
    static let organization = OrganizationRecord(id: OrganizationID(rawValue: "acme"), name: "Acme", createdAt: 1)

    static func app(_ number: Int, organization: String = "acme") -> AppRecord {
        let digits = String(number, radix: 16)
        var record = AppRecord(
            recordID: RecordID(rawValue: String(repeating: "0", count: 24 - digits.count) + digits),
            appID: AppID(rawValue: "app_\(number)"),
            username: "web\(number)",
            organization: OrganizationID(rawValue: organization),
            name: "Web / \u{e4}\"\\",
            createdAt: Int64(number),
            dialects: [.offlineid]
        )
        record.origins = ["https://shop\(number).example.com"]
        return record
    }

    static func key(_ name: String) -> APIKeyRecord {
        APIKeyRecord(
            id: APIKeyID(rawValue: "key_" + name),
            name: name,
            secret: HashedSecret(pepper: "p1", hash: String(repeating: "a", count: 64), createdAt: 1)
        )
    }
}

extension RedisServer {
    /// A registry with the sample organization.
    @Reactor
    func registry() async throws -> RegistryStore {
        let store = RegistryStore(connection: try await connected(), loop: TestLoop.loop)
        _ = try await store.create(Sample.organization, by: "root", events: [HistoryEvent("org_created")])
        return store
    }
}
