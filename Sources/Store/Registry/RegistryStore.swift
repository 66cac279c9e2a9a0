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
    private static let deadline = Duration.seconds(5)
    /// As many others may be faster before we give up.
    private static let attempts = 16
    private static let pageSize = 200

    private let sync: ChangeSync?

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

    // MARK: - History and uses

    /// Rows of an app's history, newest first; only `event`'s where given.
    package func history(
        app: RecordID,
        event: String? = nil,
        limit: Int = 100
    ) async throws(RegistryError) -> RegistryListing<HistoryRow> {
        try await history(id: app.rawValue, event: event, limit: limit)
    }

    /// Rows of an organization's own history, newest first.
    package func history(
        organization: OrganizationID,
        event: String? = nil,
        limit: Int = 100
    ) async throws(RegistryError) -> RegistryListing<HistoryRow> {
        try await history(id: organization.rawValue, event: event, limit: limit)
    }

    /// The number of the last change.
    package func sequence() async throws(RegistryError) -> Int {
        let reply = try await command("GET", .text(RegistryScripts.tag + ":sequence"))
        return Int(reply.integer ?? 0)
    }

    /// When and from which network keys were last used; keys never used are missing.
    package func uses(of keys: [APIKeyID]) async throws(RegistryError) -> [APIKeyID: KeyUse] {
        guard !keys.isEmpty else { return [:] }
        let arguments: [RedisArgument] =
            ["HMGET", .text(RegistryScripts.tag + ":uses")] + keys.map { .text($0.rawValue) }
        let reply = try await command(arguments)
        guard let values = reply.elements, values.count == keys.count else { throw .store(.malformed("key uses")) }
        var uses: [APIKeyID: KeyUse] = [:]
        for (key, value) in zip(keys, values) {
            if let text = value.text, let use = KeyUse(parsing: text) { uses[key] = use }
        }
        return uses
    }

    // MARK: - Parts

    private func history(
        id: String,
        event: String?,
        limit: Int
    ) async throws(RegistryError) -> RegistryListing<HistoryRow> {
        var rows = RegistryListing<HistoryRow>()
        var end = "+"
        while rows.elements.count < limit {
            let reply = try await command(
                "XREVRANGE",
                .text(RegistryScripts.tag + ":history:" + id),
                .text(end),
                "-",
                "COUNT",
                .number(Self.pageSize)
            )
            guard let entries = reply.elements else { throw .store(.malformed("a history")) }
            for entry in entries where rows.elements.count < limit {
                guard let place = entry.elements?.first?.text else { throw .store(.malformed("a history")) }
                end = "(" + place
                do throws(StoreError) {
                    let row = try HistoryRow(entry: entry)
                    if event == nil || event == row.event.name { rows.elements.append(row) }
                } catch {
                    // The others are no worse for it.
                    rows.problems.append(RegistryProblem("row \(place) of the history of \(id)", "it cannot be read"))
                }
            }
            if entries.count < Self.pageSize { break }
        }
        return rows
    }

    private func fetch(
        _ reference: AppReference
    ) async throws(RegistryError) -> (record: AppRecord, version: Int)? {
        let (index, value) = reference.indexed
        let reply = try await evaluate(RegistryScripts.fetch, [.text(index), .text(value)])
        guard let parts = reply.elements, !parts.isEmpty else { return nil }
        guard parts.count == 4, let version = parts[1].integer, let json = parts[2].bytes else {
            throw .store(.malformed("an app"))
        }
        return (try RecordCoding.decode(AppRecord.self, from: json), Int(version))
    }

    private func stored<Record: Codable>(
        _ type: Record.Type,
        kind: String,
        id: String
    ) async throws(RegistryError) -> (record: Record, version: Int)? {
        let reply = try await command("HMGET", .text("\(RegistryScripts.tag):\(kind):\(id)"), "v", "j")
        guard let parts = reply.elements, parts.count == 2 else { throw .store(.malformed("a record")) }
        guard let version = parts[0].integer, let json = parts[1].bytes else { return nil }
        return (try RecordCoding.decode(type, from: json), Int(version))
    }

    private func all<Record: Codable>(
        _ type: Record.Type,
        kind: String,
        list: String,
        words: String
    ) async throws(RegistryError) -> RegistryListing<Record> {
        var listing = RegistryListing<Record>()
        var first = 0
        while true {
            let reply = try await evaluate(
                RegistryScripts.page,
                [.text(kind), .text(list), .number(first), .number(first + Self.pageSize - 1)]
            )
            guard let parts = reply.elements else { throw .store(.malformed("a page of records")) }
            for index in stride(from: 1, to: parts.count, by: 2) {
                // A record that is missing or cannot be read closes its own app and keeps nobody from the others.
                let what = "\(words) \(parts[index - 1].text ?? "")"
                guard let json = parts[index].bytes else {
                    listing.problems.append(RegistryProblem(what, "its record is missing"))
                    continue
                }
                do throws(RegistryError) {
                    listing.elements.append(try RecordCoding.decode(type, from: json))
                } catch {
                    guard case .broken(let reason) = error else { throw error }
                    listing.problems.append(RegistryProblem(what, reason))
                }
            }
            if parts.count < 2 * Self.pageSize { return listing }
            first += Self.pageSize
        }
    }

    /// Writes a change: its number, or nil where somebody else was faster.
    private func apply(_ change: RegistryChange) async throws(RegistryError) -> Int? {
        let reply = try await write(RegistryScripts.change, [.bytes(change.argument)])
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

    func evaluate(_ script: RedisScript, _ arguments: [RedisArgument]) async throws(RegistryError) -> RedisReply {
        do {
            return try await connection.evaluate(
                script,
                keys: [.text(RegistryScripts.tag)],
                arguments: arguments,
                deadline: Self.deadline
            )
        } catch {
            throw .store(error)
        }
    }

    /// Runs a script whose effects are on disk before it is answered, where this store sees to that.
    func write(_ script: RedisScript, _ arguments: [RedisArgument]) async throws(RegistryError) -> RedisReply {
        guard let sync else { return try await evaluate(script, arguments) }
        do {
            try await sync.begin(within: Self.deadline)
        } catch {
            throw .store(error)
        }
        do throws(RegistryError) {
            let reply = try await evaluate(script, arguments)
            sync.end()
            return reply
        } catch {
            sync.end()
            throw error
        }
    }

    private func command(_ arguments: RedisArgument...) async throws(RegistryError) -> RedisReply {
        try await command(arguments)
    }

    private func command(_ arguments: [RedisArgument]) async throws(RegistryError) -> RedisReply {
        do {
            return try await connection.call(arguments, deadline: Self.deadline)
        } catch {
            throw .store(error)
        }
    }

    private func wrapping<Value>(_ body: () throws(StoreError) -> Value) throws(RegistryError) -> Value {
        do {
            return try body()
        } catch {
            throw .store(error)
        }
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
