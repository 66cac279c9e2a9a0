// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Testing
import Transport

@testable import Store

@Suite(.onLoop) struct RegistryStoreTests {
    let acme = OrganizationID(rawValue: "acme")

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
