// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Testing
import Transport

@testable import Store

extension RegistryStoreTests {
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
}
