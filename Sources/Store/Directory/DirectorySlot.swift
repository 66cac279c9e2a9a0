// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials

/// One app in the directory, with the names under which it is found.
final class DirectorySlot {
    let lookup: AppLookup
    let record: String
    let organization: String
    let names: [DirectoryName]
    /// Seen since the eviction hand passed last.
    var wasUsed = true
    var position = 0

    init(_ lookup: AppLookup, record: String, organization: String, names: [DirectoryName]) {
        self.lookup = lookup
        self.record = record
        self.organization = organization
        self.names = names
    }
}

extension DirectorySlot {
    /// Compiles what the fetch script answered: {record id, version, record, organization's record}.
    convenience init?(fetched parts: [RedisReply], by name: DirectoryName) {
        guard parts.count == 4, let id = parts[0].text, let json = parts[2].bytes else { return nil }
        do throws(RegistryError) {
            let record = try RecordCoding.decode(AppRecord.self, from: json)
            guard record.recordID.rawValue == id else { throw RegistryError.broken(reason: "another record's id") }
            var names = [DirectoryName(.record, id), DirectoryName(.appID, record.appID.rawValue)]
            names.append(DirectoryName(.username, record.organization.rawValue + "/" + record.username))
            for key in record.keys { names.append(DirectoryName(.key, key.id.rawValue)) }
            self.init(
                Self.compile(record, organization: parts[3].bytes),
                record: id,
                organization: record.organization.rawValue,
                names: names
            )
        } catch {
            // Its other names are not known; each of them costs a fetch, and the app stays closed.
            let names = name.kind == .record ? [name] : [DirectoryName(.record, id), name]
            self.init(.broken(reason: error.reason), record: id, organization: "", names: names)
        }
    }

    private static func compile(_ record: AppRecord, organization: [UInt8]?) -> AppLookup {
        guard let organization else { return .broken(reason: "its organization is missing") }
        do throws(RegistryError) {
            let owner = try RecordCoding.decode(OrganizationRecord.self, from: organization)
            return compile(record, isOrganizationEnabled: owner.isEnabled)
        } catch {
            return .broken(reason: error.reason)
        }
    }

    private static func compile(_ record: AppRecord, isOrganizationEnabled: Bool) -> AppLookup {
        do {
            return .known(try App(compiling: record, isOrganizationEnabled: isOrganizationEnabled))
        } catch {
            return .broken(reason: "an entry is not in normal form")
        }
    }
}
