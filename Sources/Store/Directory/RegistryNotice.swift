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
        /// Of tokens; what is revoked is in `revocation`.
        case revocation
        /// The ring of signing keys.
        case signing
        /// Which keys at rest are in use.
        case keyring
        /// The key set of the outside issuer that the id names.
        case issuer
        /// The tokens of the admin API.
        case adminTokens = "admin-tokens"
    }

    package var sequence: Int
    package var kind: Kind
    /// The app's record id or the organization's id.
    package var id: String
    package var organization: String
    /// Origins and domains that were added or removed.
    package var sites: [String]
    /// What a change of kind `revocation` revokes.
    package var revocation: Revoked?

    /// Revoked token ids and raised watermarks.
    package struct Revoked: Sendable, Equatable {
        package var tokens: [(id: String, expiresAt: Int64)]
        package var marks: [(subject: RevocationSubject, notBefore: Int64, expiresAt: Int64)]

        package static func == (left: Revoked, right: Revoked) -> Bool {
            left.tokens.elementsEqual(right.tokens, by: ==) && left.marks.elementsEqual(right.marks, by: ==)
        }
    }

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
        guard kind == .revocation else { return }
        guard let revocation = Self.revoked(values["tokens"], values["marks"]) else { return nil }
        self.revocation = revocation
    }

    private static func revoked(_ tokens: String?, _ marks: String?) -> Revoked? {
        guard let tokens = list(tokens), let marks = list(marks) else { return nil }
        var revoked = Revoked(tokens: [], marks: [])
        for entry in tokens {
            guard let parts = entry.array, parts.count == 2, let id = parts[0].string, let end = parts[1].integer
            else { return nil }
            revoked.tokens.append((id, Int64(end)))
        }
        for entry in marks {
            guard let parts = entry.array, parts.count == 3,
                let subject = parts[0].string.flatMap(RevocationSubject.init(name:)),
                let notBefore = parts[1].integer, let end = parts[2].integer
            else { return nil }
            revoked.marks.append((subject, Int64(notBefore), Int64(end)))
        }
        return revoked
    }

    private static func sites(_ text: String?) -> [String]? {
        list(text)?.compactMap(\.string)
    }

    private static func list(_ text: String?) -> [JSONValue]? {
        guard let text else { return nil }
        do {
            return try JSONValue(parsing: text, limits: .document).array
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
    /// Reads what must be complete before anything is served; what it held stays in force meanwhile.
    func restore(from connection: RedisConnection) async throws(StoreError)
}

extension ChangeSubscriber {
    package func restore(from connection: RedisConnection) async throws(StoreError) {}
}
