// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Testing
import Transport

@testable import Store

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

@Suite(.onLoop) struct RegistryStoreTests {
    private let acme = OrganizationID(rawValue: "acme")

    @Test @Reactor func `what is created is found by each of its names`() async throws {
        let server = try await RedisServer.launched()
        let store = try await server.registry()
        var record = Sample.app(1)
        record.keys = [Sample.key("one")]
        let made = try await store.create(record, by: "root", events: [HistoryEvent("app_created")])
        #expect(made.sequence == 2)
        #expect(try await store.app(.record(record.recordID)) == record)
        #expect(try await store.app(.appID(record.appID)) == record)
        #expect(try await store.app(.username(acme, "web1")) == record)
        #expect(try await store.app(.key(APIKeyID(rawValue: "key_one"))) == record)
        #expect(try await store.app(.username(acme, "web2")) == nil)
        #expect(try await store.app(.username(OrganizationID(rawValue: "other"), "web1")) == nil)
        #expect(try await store.organization(acme) == Sample.organization)
        #expect(try await store.organizations().elements == [Sample.organization])
        #expect(try await store.sequence() == 2)
        store.connection.close()
    }

    @Test @Reactor func `lists are complete, in order of creation`() async throws {
        let server = try await RedisServer.launched()
        let store = try await server.registry()
        _ = try await store.create(
            OrganizationRecord(id: OrganizationID(rawValue: "beta"), name: "Beta", createdAt: 2),
            by: "root",
            events: []
        )
        for number in (1...450).reversed() {
            let owner = number % 3 == 0 ? "beta" : "acme"
            _ = try await store.create(Sample.app(number, organization: owner), by: "root", events: [])
        }
        #expect(try await store.apps().elements.map(\.createdAt) == (1...450).map(Int64.init))
        #expect(try await store.apps(of: OrganizationID(rawValue: "beta")).elements.count == 150)
        #expect(try await store.apps(of: OrganizationID(rawValue: "none")).elements.isEmpty)
        store.connection.close()
    }

    @Test @Reactor func `names are unique where they must be`() async throws {
        let server = try await RedisServer.launched()
        let store = try await server.registry()
        _ = try await store.create(Sample.app(1), by: "root", events: [])
        await #expect(throws: RegistryError.exists) { try await store.create(Sample.app(1), by: "root", events: []) }
        await #expect(throws: RegistryError.exists) {
            try await store.create(Sample.organization, by: "root", events: [])
        }
        var sameID = Sample.app(2)
        sameID.appID = AppID(rawValue: "app_1")
        await #expect(throws: RegistryError.taken(index: .appID, value: "app_1")) {
            try await store.create(sameID, by: "root", events: [])
        }
        var sameName = Sample.app(2)
        sameName.username = "web1"
        await #expect(throws: RegistryError.taken(index: .username, value: "acme/web1")) {
            try await store.create(sameName, by: "root", events: [])
        }
        await #expect(throws: RegistryError.organizationNotFound) {
            try await store.create(Sample.app(2, organization: "none"), by: "root", events: [])
        }
        // Nothing of what was refused is left behind.
        #expect(try await store.app(.record(Sample.app(2).recordID)) == nil)
        #expect(try await store.sequence() == 2)
        store.connection.close()
    }

    @Test @Reactor func `a change moves its indexes and frees what it gives up`() async throws {
        let server = try await RedisServer.launched()
        let store = try await server.registry()
        var record = Sample.app(1)
        record.keys = [Sample.key("one"), Sample.key("two")]
        _ = try await store.create(record, by: "root", events: [])
        let changed = try await store.change(app: .appID(record.appID), by: "root") { record in
            record.username = "renamed"
            record.keys.removeFirst()
            record.origins = ["https://new.example.com"]
            return [HistoryEvent("changed")]
        }
        #expect(changed.sequence == 3)
        #expect(try await store.app(.username(acme, "web1")) == nil)
        #expect(try await store.app(.username(acme, "renamed")) == changed.record)
        #expect(try await store.app(.key(APIKeyID(rawValue: "key_one"))) == nil)
        #expect(try await store.app(.key(APIKeyID(rawValue: "key_two"))) == changed.record)
        let old = try await store.connection.call(["HVALS", "{registry}:site:https://shop1.example.com"])
        #expect(old == .array([]))
        let new = try await store.connection.call(["HVALS", "{registry}:site:https://new.example.com"])
        #expect(new == .array([.bytes(Array("acme".utf8))]))
        var successor = Sample.app(2)
        successor.username = "web1"
        _ = try await store.create(successor, by: "root", events: [])
        store.connection.close()
    }

    @Test @Reactor func `a change that changes nothing writes nothing`() async throws {
        let server = try await RedisServer.launched()
        let store = try await server.registry()
        _ = try await store.create(Sample.app(1), by: "root", events: [HistoryEvent("app_created")])
        let outcome = try await store.change(app: .username(acme, "web1"), by: "root") { record in
            record.isEnabled = true
            return [HistoryEvent("enabled")]
        }
        #expect(outcome.sequence == nil)
        #expect(try await store.sequence() == 2)
        #expect(try await store.history(app: Sample.app(1).recordID).elements.count == 1)
        store.connection.close()
    }

    @Test @Reactor func `changes at the same time are all kept`() async throws {
        let server = try await RedisServer.launched()
        let store = try await server.registry()
        _ = try await store.create(Sample.app(1), by: "root", events: [])
        let others = [store, RegistryStore(connection: try await server.connected(), loop: TestLoop.loop)]
        let changes = (0..<12).map { number in
            Task { @Reactor in
                try await others[number % 2].change(app: .appID(AppID(rawValue: "app_1")), by: "dev\(number)") {
                    record in
                    record.keys.append(Sample.key("k\(number)"))
                    return [HistoryEvent("key_created", [("key", .string("k\(number)"))])]
                }
            }
        }
        var sequences: Set<Int> = []
        for change in changes { if let number = try await change.value.sequence { sequences.insert(number) } }
        #expect(sequences == Set(3...14))
        let record = try #require(try await store.app(.appID(AppID(rawValue: "app_1"))))
        #expect(Set(record.keys.map(\.name)) == Set((0..<12).map { "k\($0)" }))
        #expect(try await store.history(app: record.recordID).elements.count == 12)
        for store in others { store.connection.close() }
    }

    @Test @Reactor func `a refused change is told and leaves no trace`() async throws {
        let server = try await RedisServer.launched()
        let store = try await server.registry()
        _ = try await store.create(Sample.app(1), by: "root", events: [])
        let refusal = RegistryError.rejected(code: "production", message: "no")
        await #expect(throws: refusal) {
            try await store.change(app: .appID(AppID(rawValue: "app_1")), by: "root") { record throws(RegistryError) in
                record.isEnabled = false
                throw refusal
            }
        }
        await #expect(throws: RegistryError.appNotFound) {
            try await store.change(app: .appID(AppID(rawValue: "app_9")), by: "root") { _ in [] }
        }
        #expect(try await store.app(.appID(AppID(rawValue: "app_1"))) == Sample.app(1))
        store.connection.close()
    }

    @Test @Reactor func `a history is listed newest first, by event and up to a limit`() async throws {
        let server = try await RedisServer.launched()
        let store = try await server.registry()
        let id = Sample.app(1).recordID
        _ = try await store.create(Sample.app(1), by: "root", events: [HistoryEvent("app_created")])
        for number in 0..<250 {
            _ = try await store.change(app: .record(id), by: "dev@\(number)") { record in
                record.name = "n\(number)"
                return [HistoryEvent(number % 2 == 0 ? "even" : "odd", [("n", .number(JSONNumber(number)))])]
            }
        }
        let all = try await store.history(app: id, limit: 1_000).elements
        #expect(all.count == 251)
        #expect(all.last?.event.name == "app_created")
        #expect(all.first?.by == "dev@249")
        #expect(all.first?.event.details["n"]?.integer == 249)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.at >= $1.at })
        #expect(try await store.history(app: id, event: "even", limit: 1_000).elements.count == 125)
        #expect(
            try await store.history(app: id, event: "odd", limit: 3).elements.map(\.by) == [
                "dev@249", "dev@247", "dev@245",
            ]
        )
        #expect(try await store.history(organization: acme).elements.map(\.event.name) == ["org_created"])
        store.connection.close()
    }

    @Test @Reactor func `a record that does not decode is broken, not another's`() async throws {
        let server = try await RedisServer.launched()
        let store = try await server.registry()
        _ = try await store.create(Sample.app(1), by: "root", events: [])
        let id = Sample.app(1).recordID.rawValue
        let json = try RecordCoding.encode(Sample.app(1))
        for damaged in [
            "{", "[]", json.replacing("\"check\":\"off\"", with: "\"check\":\"of\""),
            "{\"newer\":1," + json.dropFirst(),
        ] {
            _ = try await store.connection.call(["HSET", .text("{registry}:app:" + id), "j", .text(String(damaged))])
            await #expect(throws: RegistryError.broken(reason: "")) {
                try await store.app(.appID(AppID(rawValue: "app_1")))
            }
        }
        _ = try await store.connection.call(["HSET", .text("{registry}:app:" + id), "j", .text(json)])
        #expect(try await store.app(.appID(AppID(rawValue: "app_1"))) == Sample.app(1))
        store.connection.close()
    }

    @Test @Reactor func `a list says which records it lacks, and why`() async throws {
        let server = try await RedisServer.launched()
        let store = try await server.registry()
        for number in 1...4 { _ = try await store.create(Sample.app(number), by: "root", events: []) }
        #expect(try await store.apps().problems.isEmpty)
        let ids = (1...4).map { Sample.app($0).recordID.rawValue }
        _ = try await store.connection.call(["HSET", .text("{registry}:app:\(ids[0])"), "j", "{\"broken\":"])
        _ = try await store.connection.call(["DEL", .text("{registry}:app:\(ids[1])")])
        _ = try await store.connection.call(["HSET", "{registry}:org:acme", "j", "{}"])
        let apps = try await store.apps(of: acme)
        #expect(apps.elements.map(\.appID.rawValue) == ["app_3", "app_4"])
        #expect(apps.problems.map(\.what) == ["app \(ids[0])", "app \(ids[1])"])
        #expect(apps.problems.last?.reason == "its record is missing")
        let organizations = try await store.organizations()
        #expect(organizations.elements.isEmpty && organizations.problems.map(\.what) == ["organization acme"])
        store.connection.close()
    }

    @Test @Reactor func `an app whose entries the gateway does not take is listed and named`() async throws {
        let server = try await RedisServer.launched()
        let store = try await server.registry()
        var record = Sample.app(1)
        record.origins = ["HTTPS://Not-Normal.example/"]
        _ = try await store.create(record, by: "root", events: [])
        let apps = try await store.apps()
        #expect(apps.elements.count == 1)
        #expect(apps.problems == [RegistryProblem("app app_1", "an entry is not in normal form")])
        store.connection.close()
    }

    @Test @Reactor func `a row of a history that cannot be read keeps no other from being read`() async throws {
        let server = try await RedisServer.launched()
        let store = try await server.registry()
        let app = Sample.app(1)
        _ = try await store.create(app, by: "root", events: [HistoryEvent("app_created")])
        let key = RedisArgument.text("{registry}:history:\(app.recordID.rawValue)")
        _ = try await store.connection.call(["XADD", key, "*", "event", "x", "by", "y", "details", "{"])
        _ = try await store.connection.call(["XADD", key, "*", "what", "ever"])
        _ = try await store.connection.call(["XADD", key, "*", "event", "x", "by", "y", "details", "{}"])
        let rows = try await store.history(app: app.recordID)
        #expect(rows.elements.map(\.event.name) == ["x", "app_created"])
        #expect(rows.problems.count == 2 && rows.problems.allSatisfy { $0.what.contains(app.recordID.rawValue) })
        store.connection.close()
    }

    @Test @Reactor func `an answered change survives kill -9, 100 of 100`() async throws {
        let server = try await RedisServer.launched()
        let store = try await server.registry()
        for number in 1...100 {
            try await store.connection.becomeReady(within: .seconds(5))
            _ = try await store.create(Sample.app(number), by: "root", events: [])
            server.kill()
            #expect(await eventually { !store.connection.isReady })
            try await server.restart()
        }
        try await store.connection.becomeReady(within: .seconds(5))
        #expect(try await store.apps().elements.count == 100)
        #expect(try await store.sequence() == 101)
        store.connection.close()
    }

    @Test @Reactor func `the last use of a key is noted lazily and goes with the key`() async throws {
        let server = try await RedisServer.launched()
        let store = try await server.registry()
        var record = Sample.app(1)
        record.keys = [Sample.key("one"), Sample.key("two")]
        _ = try await store.create(record, by: "root", events: [])
        let recorder = KeyUseRecorder(connection: store.connection, loop: TestLoop.loop)
        let ids = ["key_one", "key_two", "key_gone"].map(APIKeyID.init(rawValue:))
        var made = 0
        for _ in 0..<10 {
            recorder.note(ids[0]) {
                made += 1
                return "198.51.100.0/24"
            }
        }
        recorder.note(ids[2]) { "2001:db8::/48" }
        let uses = try await store.uses(of: ids)
        #expect(made == 1)
        #expect(uses.keys.sorted { $0.rawValue < $1.rawValue } == [ids[0]])
        #expect(uses[ids[0]]?.network == "198.51.100.0/24")
        _ = try await store.change(app: .record(record.recordID), by: "root") { record in
            record.keys.removeFirst()
            return []
        }
        #expect(try await store.uses(of: ids).isEmpty)
        store.connection.close()
    }
}
