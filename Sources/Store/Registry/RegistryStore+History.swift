// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
import Transport

extension RegistryStore {
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

    /// The registry's name and the number of its last change; a registry without a name is given `name` first.
    package func birth(naming name: String) async throws(RegistryError) -> (name: String, sequence: Int) {
        let reply = try await write(RegistryScripts.birth, [.text(name)])
        return try position(reply)
    }

    /// The name in Redis, nil where there is none, and the number of the last change.
    package func position() async throws(RegistryError) -> (name: String?, sequence: Int) {
        let reply = try await command("MGET", .text(RegistryIdentity.key), .text(RegistryScripts.tag + ":sequence"))
        guard let parts = reply.elements, parts.count == 2 else { throw .store(.malformed("the registry's position")) }
        return (parts[0].text, Int(parts[1].integer ?? 0))
    }

    private func position(_ reply: RedisReply) throws(RegistryError) -> (name: String, sequence: Int) {
        guard let parts = reply.elements, parts.count == 2, let name = parts[0].text, let sequence = parts[1].integer
        else { throw .store(.malformed("the registry's position")) }
        return (name, Int(sequence))
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
}
