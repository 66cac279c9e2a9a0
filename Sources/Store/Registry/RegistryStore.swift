// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
package import Transport

/// The registry as the control process and dialect endpoints read and change it.
///
/// Isolated to the Reactor.
///
/// A change is made to a copy of the record, then written with its indexes, history and change-stream entry by one
/// script; when somebody else was faster the change is made again to what they wrote.
@Reactor
package final class RegistryStore {
    /// What a change did.
    package enum Outcome<Record: Sendable>: Sendable {
        /// Written; workers apply change number `sequence`.
        case changed(Record, sequence: Int)
        /// The body left everything as it was; nothing was written, no history made.
        case unchanged(Record)

        /// The record as it is now.
        package var record: Record {
            switch self {
            case .changed(let record, _), .unchanged(let record): record
            }
        }

        /// The change to wait for, nil where there was none.
        package var sequence: Int? {
            switch self {
            case .changed(_, let sequence): sequence
            case .unchanged: nil
            }
        }
    }

    /// How to name an app.
    package enum AppReference: Sendable, Hashable {
        case record(RecordID)
        case appID(AppID)
        case username(OrganizationID, String)
        case key(APIKeyID)
    }

    let connection: RedisConnection
    let loop: EventLoop
    /// Changes may take a disk's sync and several tries; they are not on the data path.
    static let deadline = Duration.seconds(5)
    /// As many others may be faster before we give up.
    private static let attempts = 16
    static let pageSize = 200

    let sync: ChangeSync?

    package init(connection: RedisConnection, loop: EventLoop, syncsChanges: Bool = false) {
        self.connection = connection
        self.loop = loop
        self.sync = syncsChanges ? ChangeSync(connection: connection) : nil
    }

    /// Lets windows and leases go unsynced between changes; called whenever the connection is there.
    package func relax() { sync?.relax() }

    // MARK: - Organizations

    /// Creates an organization.
    package func create(
        _ record: OrganizationRecord,
        by: String,
        events: [HistoryEvent]
    ) async throws(RegistryError) -> Outcome<OrganizationRecord> {
        let change = try RegistryChange(record, expectedVersion: 0, events: events, by: by)
        guard let sequence = try await apply(change) else { throw .exists }
        return .changed(record, sequence: sequence)
    }

    /// All organizations, oldest first.
    package func organizations() async throws(RegistryError) -> RegistryListing<OrganizationRecord> {
        try await all(OrganizationRecord.self, kind: "org", list: "orgs", words: "organization")
    }

    /// One organization, nil where there is none.
    package func organization(_ id: OrganizationID) async throws(RegistryError) -> OrganizationRecord? {
        try await stored(OrganizationRecord.self, kind: "org", id: id.rawValue)?.record
    }

    /// Changes an organization; `body` may run several times and must depend on nothing but the record.
    package func change(
        organization id: OrganizationID,
        by: String,
        _ body: (inout OrganizationRecord) throws(RegistryError) -> [HistoryEvent]
    ) async throws(RegistryError) -> Outcome<OrganizationRecord> {
        for _ in 0..<Self.attempts {
            guard let found = try await stored(OrganizationRecord.self, kind: "org", id: id.rawValue) else {
                throw .organizationNotFound
            }
            var record = found.record
            let events = try body(&record)
            if record == found.record { return .unchanged(record) }
            let change = try RegistryChange(record, expectedVersion: found.version, events: events, by: by)
            if let sequence = try await apply(change) { return .changed(record, sequence: sequence) }
        }
        throw .contended
    }

    // MARK: - Apps

    /// Creates an app in an organization that exists.
    package func create(
        _ record: AppRecord,
        by: String,
        events: [HistoryEvent]
    ) async throws(RegistryError) -> Outcome<AppRecord> {
        let change = try RegistryChange(record, replacing: nil, expectedVersion: 0, events: events, by: by)
        guard let sequence = try await apply(change) else { throw .exists }
        return .changed(record, sequence: sequence)
    }

    /// All apps, or those of one organization, oldest first.
    package func apps(of organization: OrganizationID? = nil) async throws(RegistryError) -> RegistryListing<AppRecord>
    {
        let list = organization.map { "apps:" + $0.rawValue } ?? "apps"
        var listing = try await all(AppRecord.self, kind: "app", list: list, words: "app")
        for record in listing.elements {
            do {
                _ = try App(compiling: record, isOrganizationEnabled: true)
            } catch {
                listing.problems.append(
                    RegistryProblem("app \(record.appID.rawValue)", "an entry is not in normal form")
                )
            }
        }
        return listing
    }

    /// One app, nil where there is none.
    package func app(_ reference: AppReference) async throws(RegistryError) -> AppRecord? {
        try await fetch(reference)?.record
    }

    /// Changes an app; `body` may run several times and must depend on nothing but the record.
    package func change(
        app reference: AppReference,
        by: String,
        _ body: (inout AppRecord) throws(RegistryError) -> [HistoryEvent]
    ) async throws(RegistryError) -> Outcome<AppRecord> {
        for _ in 0..<Self.attempts {
            guard let found = try await fetch(reference) else { throw .appNotFound }
            var record = found.record
            let events = try body(&record)
            if record == found.record { return .unchanged(record) }
            guard record.recordID == found.record.recordID, record.organization == found.record.organization else {
                preconditionFailure("an app's record id and organization never change")
            }
            let change = try RegistryChange(
                record,
                replacing: found.record,
                expectedVersion: found.version,
                events: events,
                by: by
            )
            if let sequence = try await apply(change) { return .changed(record, sequence: sequence) }
        }
        throw .contended
    }

    // MARK: - Parts

    /// The name of the registry that is meant, or nothing where any will do.
    var registryName: String { connection.identity?.expected ?? "" }

    /// Writes a change: its number, or nil where somebody else was faster.
    private func apply(_ change: RegistryChange) async throws(RegistryError) -> Int? {
        let reply = try await write(RegistryScripts.change, [.bytes(change.argument), .text(registryName)])
        guard let parts = reply.elements, let word = parts.first?.text else {
            throw .store(.malformed("the answer to a change"))
        }
        switch word {
        case "ok":
            guard parts.count == 3, let sequence = parts[1].integer else { break }
            return Int(sequence)
        case "conflict": return nil
        case "missing": throw .organizationNotFound
        case "taken":
            guard parts.count == 3, let index = parts[1].text.flatMap(RegistryIndex.init(rawValue:)),
                let value = parts[2].text
            else { break }
            throw .taken(index: index, value: value)
        default: break
        }
        throw .store(.malformed("the answer to a change"))
    }
}

extension RegistryStore.AppReference {
    /// The index to look in, and the value.
    var indexed: (index: String, value: String) {
        switch self {
        case .record(let id): ("app", id.rawValue)
        case .appID(let id): (RegistryIndex.appID.rawValue, id.rawValue)
        case .username(let organization, let name):
            (RegistryIndex.username.rawValue, organization.rawValue + "/" + name)
        case .key(let id): (RegistryIndex.key.rawValue, id.rawValue)
        }
    }
}
