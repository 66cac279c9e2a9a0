// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
import Crypto
import Encodings
package import Transport

/// The key set of an outside issuer as all nodes share it.
package struct SharedKeySet: Sendable, Equatable {
    /// The address it came from: a set from another address is not this issuer's any more.
    package var source: String
    /// The set as it was fetched.
    package var bytes: [UInt8]
    /// Milliseconds since 1970, by the clock of the node that fetched it.
    package var fetchedAt: Int64

    /// How long the last good set counts when no newer one can be had, in milliseconds.
    package static let life: Int64 = 86_400_000

    /// What tells one set from another; a word of its own for none.
    package static func digest(of set: SharedKeySet?) -> String {
        guard let set else { return "none" }
        return Hex.encode(Array(SHA256.hash(Array("\(set.source)\n".utf8) + set.bytes).bytes[..<8]))
    }

    package init(source: String, bytes: [UInt8], fetchedAt: Int64) {
        self.source = source
        self.bytes = bytes
        self.fetchedAt = fetchedAt
    }
}

/// A node of the gateway and the keys at rest that it holds.
package struct NodeKeys: Sendable, Equatable {
    package var node: String
    package var seals: [String]
    package var peppers: [String]

    package init(node: String, seals: [String], peppers: [String]) {
        self.node = node
        self.seals = seals
        self.peppers = peppers
    }
}

extension RegistryStore {
    /// Reads a shared document.
    package func document<Document: SharedDocument>(
        _ type: Document.Type
    ) async throws(RegistryError) -> VersionedDocument<Document> {
        try await SharedKeys.document(type, from: connection)
    }

    /// Changes a shared document; `body` may run several times and must depend on nothing but the document.
    package func change<Document: SharedDocument>(
        _ type: Document.Type,
        by: String,
        _ body: (inout Document) throws(RegistryError) -> [HistoryEvent]
    ) async throws(RegistryError) -> (document: Document, sequence: Int?) {
        for _ in 0..<16 {
            let found = try await document(type)
            var document = found.document
            let events = try body(&document)
            if document == found.document { return (document, nil) }
            var json = JSONWriter()
            HistoryEvent.write(events, to: &json)
            let reply = try await write(
                KeyScripts.change,
                [
                    .text(Document.kind.rawValue), .number(found.version), .text(try RecordCoding.encode(document)),
                    .bytes(json.bytes), .text(by),
                ]
            )
            if let parts = reply.elements, parts.count == 2, let sequence = parts[1].integer {
                return (document, Int(sequence))
            }
        }
        throw .contended
    }

    /// Keeps a fetched key set for all nodes; true where it differs from the one before.
    package func keep(_ set: SharedKeySet, of issuer: String) async throws(RegistryError) -> Bool {
        let reply = try await evaluate(
            KeyScripts.keepKeySet,
            [
                .text(issuer), .text(set.source), .bytes(set.bytes), .number(Int(set.fetchedAt)),
                .number(Int(SharedKeySet.life)),
            ]
        )
        return reply.integer == 1
    }

    /// The key set of an issuer, nil where none is kept from `source`.
    package func keySet(of issuer: String, from source: String) async throws(RegistryError) -> SharedKeySet? {
        try await SharedKeys.keySet(of: issuer, from: source, over: connection)
    }

    /// Takes the one fetch for an unknown key that all nodes together may make in `pause`; false while it is taken.
    package func mayRefetch(_ issuer: String, pause: Duration) async throws(RegistryError) -> Bool {
        do {
            let reply = try await connection.call([
                "SET", .text("\(RegistryScripts.tag):refetch:\(issuer)"), "1", "NX", "PX",
                .number(Int(pause.components.seconds) * 1_000),
            ])
            return reply.text == "OK"
        } catch {
            throw .store(error)
        }
    }

    /// Says which keys this node holds; the result are all live nodes, this one included.
    package func announce(_ keys: NodeKeys) async throws(RegistryError) -> [NodeKeys] {
        var json = JSONWriter()
        json.beginObject()
        json.member("seals", keys.seals)
        json.member("peppers", keys.peppers)
        json.endObject()
        let reply = try await evaluate(KeyScripts.heartbeat, [.text(keys.node), .text(json.text)])
        guard let parts = reply.elements else { throw .store(.malformed("the nodes")) }
        var nodes: [NodeKeys] = []
        for index in stride(from: 0, to: parts.count - 1, by: 2) {
            guard let node = parts[index].text, let text = parts[index + 1].text else { continue }
            do {
                let value = try JSONValue(parsing: text)
                func ids(_ name: String) -> [String] { (value[name]?.array ?? []).compactMap(\.string) }
                nodes.append(NodeKeys(node: node, seals: ids("seals"), peppers: ids("peppers")))
            } catch {
                throw .store(.malformed("the nodes"))
            }
        }
        return nodes.sorted { $0.node < $1.node }
    }

    /// Rows of the history of the gateway itself, newest first.
    package func gatewayHistory(
        event: String? = nil,
        limit: Int = 100
    ) async throws(RegistryError) -> RegistryListing<HistoryRow> {
        try await history(app: Self.gatewaySubject, event: event, limit: limit)
    }

    /// Whose history tells of the gateway itself.
    package static nonisolated var gatewaySubject: RecordID { RecordID(rawValue: KeyScripts.subject) }

    /// Writes rows into a history with which nothing in the registry changes.
    package func note(_ events: [HistoryEvent], of subject: RecordID, by: String) async throws(RegistryError) {
        var json = JSONWriter()
        HistoryEvent.write(events, to: &json)
        _ = try await write(KeyScripts.note, [.text(subject.rawValue), .bytes(json.bytes), .text(by)])
    }

    /// Whether a token is revoked, by its id or by a watermark of one of its subjects.
    package func isRevoked(
        _ token: String?,
        _ subjects: [RevocationSubject],
        issuedAt: Int64
    ) async throws(RegistryError) -> Bool {
        let names = subjects.map { RedisArgument.text($0.name) }
        let reply = try await evaluate(KeyScripts.isRevoked, [.text(token ?? ""), .number(Int(issuedAt))] + names)
        return reply.integer == 1
    }
}

/// Reads of what all nodes share, as workers make them over the connection that follows changes.
@Reactor
package enum SharedKeys {
    /// A shared document.
    package static func document<Document: SharedDocument>(
        _ type: Document.Type,
        from connection: RedisConnection
    ) async throws(RegistryError) -> VersionedDocument<Document> {
        let reply: RedisReply
        do {
            reply = try await connection.call(
                ["HMGET", .text("\(RegistryScripts.tag):\(Document.kind.rawValue)"), "v", "j"],
                deadline: .seconds(5)
            )
        } catch {
            throw .store(error)
        }
        guard let parts = reply.elements, parts.count == 2 else { throw .store(.malformed("a shared document")) }
        guard let version = parts[0].integer, let json = parts[1].bytes else {
            return VersionedDocument(document: Document(), version: 0)
        }
        return VersionedDocument(document: try RecordCoding.decode(type, from: json), version: Int(version))
    }

    /// The key set of an issuer, nil where none is kept from `source`.
    package static func keySet(
        of issuer: String,
        from source: String,
        over connection: RedisConnection
    ) async throws(RegistryError) -> SharedKeySet? {
        let reply: RedisReply
        do {
            reply = try await connection.call(
                ["HMGET", .text("\(RegistryScripts.tag):issuer:\(issuer)"), "s", "j", "at"],
                deadline: .seconds(5)
            )
        } catch {
            throw .store(error)
        }
        guard let parts = reply.elements, parts.count == 3 else { throw .store(.malformed("a key set")) }
        guard parts[0].text == source, let bytes = parts[1].bytes, let at = parts[2].integer else { return nil }
        return SharedKeySet(source: source, bytes: bytes, fetchedAt: at)
    }
}
