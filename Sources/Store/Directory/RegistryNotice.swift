// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
package import Transport

/// One entry of the change stream.
package struct RegistryNotice: Sendable, Equatable {
    /// What kind of record changed.
    package enum Kind: String, Sendable {
        case app
        case organization = "org"
    }

    package var sequence: Int
    package var kind: Kind
    /// The app's record id or the organization's id.
    package var id: String
    package var organization: String
    /// Origins and domains that were added or removed.
    package var sites: [String]

    /// Reads a stream entry: id, then names and values in turn.
    ///
    /// Nil: not one that this version can apply.
    init?(entry: RedisReply) {
        guard let parts = entry.elements, parts.count == 2, let name = parts[0].text,
            let sequence = Int(name.prefix { $0 != "-" }), let fields = parts[1].elements?.compactMap(\.text)
        else { return nil }
        var values: [String: String] = [:]
        for index in stride(from: 0, to: fields.count - 1, by: 2) { values[fields[index]] = fields[index + 1] }
        guard let kind = values["kind"].flatMap(Kind.init(rawValue:)), let id = values["id"],
            let organization = values["organization"], let sites = Self.sites(values["sites"])
        else { return nil }
        self.sequence = sequence
        self.kind = kind
        self.id = id
        self.organization = organization
        self.sites = sites
    }

    private static func sites(_ text: String?) -> [String]? {
        guard let text else { return nil }
        do {
            return try JSONValue(parsing: text, limits: .document).array?.compactMap(\.string)
        } catch {
            return nil
        }
    }
}

/// A cache of registry facts that follows the change stream.
@Reactor
package protocol ChangeSubscriber: AnyObject {
    /// Forgets what the change touches, at once; true asks for `reload` when the change has been acknowledged.
    func apply(_ change: RegistryNotice) -> Bool
    /// Forgets everything, at once, loads under way included.
    func dropEverything()
    /// Loads again what the change made it forget.
    func reload(_ change: RegistryNotice) async
}
