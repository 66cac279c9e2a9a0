// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings

/// Everything one change writes: made in Swift, applied by one script iff nobody was faster.
struct RegistryChange {
    var kind: String
    var id: String
    /// The version the record must have; 0 where it must not exist.
    var expectedVersion: Int
    var record: String
    var organization: String
    var createdAt: Int64
    /// Unique names that must be free or ours.
    var claimed: [(index: RegistryIndex, value: String)] = []
    var released: [(index: RegistryIndex, value: String)] = []
    /// Sorted sets that a new record enters.
    var lists: [String] = []
    /// Origins and domains that the record now names, and no longer names.
    var listedSites: [String] = []
    var unlistedSites: [String] = []
    var events: [HistoryEvent]
    var by: String

    /// A new or changed organization.
    init(
        _ record: OrganizationRecord,
        expectedVersion: Int,
        events: [HistoryEvent],
        by: String
    ) throws(RegistryError) {
        kind = "org"
        id = record.id.rawValue
        self.expectedVersion = expectedVersion
        self.record = try RecordCoding.encode(record)
        organization = record.id.rawValue
        createdAt = record.createdAt
        lists = ["orgs"]
        self.events = events
        self.by = by
    }

    /// A new app, or one that was `old`.
    init(
        _ record: AppRecord,
        replacing old: AppRecord?,
        expectedVersion: Int,
        events: [HistoryEvent],
        by: String
    ) throws(RegistryError) {
        kind = "app"
        id = record.recordID.rawValue
        self.expectedVersion = expectedVersion
        self.record = try RecordCoding.encode(record)
        organization = record.organization.rawValue
        createdAt = record.createdAt
        lists = ["apps", "apps:" + record.organization.rawValue]
        self.events = events
        self.by = by
        claimed = Self.names(of: record)
        if let old {
            let kept = Set(claimed.map { $0.index.rawValue + $0.value })
            released = Self.names(of: old).filter { !kept.contains($0.index.rawValue + $0.value) }
        }
        let sites = Set(record.origins + record.domains)
        let before = Set((old?.origins ?? []) + (old?.domains ?? []))
        listedSites = sites.subtracting(before).sorted()
        unlistedSites = before.subtracting(sites).sorted()
    }

    private static func names(of record: AppRecord) -> [(index: RegistryIndex, value: String)] {
        var names: [(index: RegistryIndex, value: String)] = [
            (.appID, record.appID.rawValue),
            (.username, record.organization.rawValue + "/" + record.username),
        ]
        for key in record.keys { names.append((.key, key.id.rawValue)) }
        for key in record.vouchKeys ?? [] { names.append((.key, key.id.rawValue)) }
        // What is indexed has its last use noted, and forgotten with it.
        for token in record.debugTokens { names.append((.key, token.id)) }
        return names
    }

    /// The script's argument.
    var argument: [UInt8] {
        var json = JSONWriter(capacity: record.utf8.count * 2 + 512)
        json.beginObject()
        json.member("kind", kind)
        json.member("id", id)
        json.member("expect", expectedVersion)
        json.member("record", record)
        json.member("organization", organization)
        json.member("created", Int(createdAt))
        json.member("by", by)
        json.member("lists", lists)
        json.member("sites", listedSites)
        json.member("unlisted", unlistedSites)
        write(claimed, as: "claim", to: &json)
        write(released, as: "release", to: &json)
        json.name("events")
        HistoryEvent.write(events, to: &json)
        var touched = JSONWriter()
        touched.beginArray()
        for site in listedSites + unlistedSites { touched.value(site) }
        touched.endArray()
        json.member("touched", touched.text)
        json.endObject()
        return json.bytes
    }

    private func write(
        _ names: [(index: RegistryIndex, value: String)],
        as member: String,
        to json: inout JSONWriter
    ) {
        json.name(member)
        json.beginArray()
        for name in names {
            json.beginArray()
            json.value(name.index.rawValue)
            json.value(name.value)
            json.endArray()
        }
        json.endArray()
    }
}
