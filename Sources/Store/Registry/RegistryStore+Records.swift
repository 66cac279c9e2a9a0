// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Transport

extension RegistryStore {
    func fetch(
        _ reference: AppReference
    ) async throws(RegistryError) -> (record: AppRecord, version: Int)? {
        let (index, value) = reference.indexed
        let reply = try await evaluate(RegistryScripts.fetch, [.text(index), .text(value), ""])
        guard let parts = reply.elements, !parts.isEmpty else { return nil }
        guard parts.count == 4, let version = parts[1].integer, let json = parts[2].bytes else {
            throw .store(.malformed("an app"))
        }
        return (try RecordCoding.decode(AppRecord.self, from: json), Int(version))
    }

    func stored<Record: Codable>(
        _ type: Record.Type,
        kind: String,
        id: String
    ) async throws(RegistryError) -> (record: Record, version: Int)? {
        let reply = try await command("HMGET", .text("\(RegistryScripts.tag):\(kind):\(id)"), "v", "j")
        guard let parts = reply.elements, parts.count == 2 else { throw .store(.malformed("a record")) }
        guard let version = parts[0].integer, let json = parts[1].bytes else { return nil }
        return (try RecordCoding.decode(type, from: json), Int(version))
    }

    func all<Record: Codable>(
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
}
