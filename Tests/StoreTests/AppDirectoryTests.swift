// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Glibc
import Testing
import Transport

@testable import Store

/// A worker's view of one server: its directory, feed and lease, and the connections under them.
@Reactor
final class TestWorker {
    let connection: RedisConnection
    let stream: RedisConnection
    let lease: ServingLease
    let directory: AppDirectory
    let revocations: Revocations
    let feed: ChangeFeed

    init(
        _ server: RedisServer,
        name: String = "worker",
        leaseLength: Duration = .seconds(30),
        capacity: Int = 100,
        endpoint: RedisEndpoint? = nil,
        identity: RegistryIdentity? = nil
    ) {
        func connection(_ suffix: String) -> RedisConnection {
            RedisConnection(
                loop: TestLoop.loop,
                endpoint: endpoint ?? server.embedded.endpoint,
                options: RedisConnection.Options(name: name + suffix, deadline: .seconds(5)),
                identity: identity
            )
        }
        self.connection = connection("")
        stream = connection("-stream")
        lease = ServingLease(loop: TestLoop.loop)
        directory = AppDirectory(connection: self.connection, lease: lease, loop: TestLoop.loop, capacity: capacity)
        revocations = Revocations(loop: TestLoop.loop) { TestLoop.loop.wallClockMilliseconds }
        feed = ChangeFeed(
            loop: TestLoop.loop,
            stream: stream,
            connection: self.connection,
            worker: name,
            lease: lease,
            leaseLength: leaseLength,
            subscribers: [revocations, directory]
        )
    }

    func start() async throws {
        connection.start()
        stream.start()
        feed.start()
        guard await eventually(within: .seconds(20), { self.lease.isValid && self.connection.isReady }) else {
            throw StoreError.unavailable
        }
    }

    func stop() async {
        await feed.stop()
        connection.close()
        stream.close()
    }

    func revokes(_ token: String) -> Bool { revocations.isRevoked(token: token.utf8.span) }

    func app(_ id: String) -> AppLookup { directory.app(id: id.utf8.span) }

    /// Looks up, and loads what is not resolved.
    func judged(_ id: String) async -> AppLookup {
        let found = app(id)
        guard case .unresolved = found else { return found }
        return await directory.load(id: id)
    }
}

extension AppLookup {
    var app: App? {
        guard case .known(let app) = self else { return nil }
        return app
    }

    var word: String {
        switch self {
        case .known: "known"
        case .unknown: "unknown"
        case .broken: "broken"
        case .unresolved: "unresolved"
        case .unavailable: "unavailable"
        }
    }
}

@Suite(.onLoop) struct AppDirectoryTests {
    @Test @Reactor func `an app is found by each of its names once it was loaded`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        var record = Sample.app(1)
        record.keys = [Sample.key("one")]
        record.keys[0].id = APIKeyID(rawValue: "key_0123456789ab")
        _ = try await registry.create(record, by: "root", events: [])
        let worker = TestWorker(server)
        #expect(worker.app("app_1").word == "unavailable")
        try await worker.start()
        #expect(worker.app("app_1").word == "unresolved")
        #expect(await worker.directory.load(id: "app_1").app?.record == record)
        let directory = worker.directory
        #expect(worker.app("app_1").app?.record == record)
        #expect(directory.app(key: "key_0123456789ab".utf8.span).app?.record == record)
        #expect(directory.app(organization: "acme".utf8.span, name: "web1".utf8.span).app?.record == record)
        let id = record.recordID.rawValue
        #expect(directory.app(record: id.utf8.span).app?.record == record)
        #expect(directory.app(organization: "acme".utf8.span, name: id.utf8.span).app?.record == record)
        // Neighbours that differ in one part are not it.
        #expect(worker.app("app_2").word == "unresolved")
        #expect(directory.app(organization: "acm".utf8.span, name: "eweb1".utf8.span).word == "unresolved")
        #expect(directory.app(organization: "beta".utf8.span, name: id.utf8.span).word == "unresolved")
        #expect(await directory.load(organization: "beta", name: id).word == "unknown")
        #expect(await directory.load(organization: "acme", name: id).app?.record == record)
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `many first sights of one app cost one fetch`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        _ = try await registry.create(Sample.app(1), by: "root", events: [])
        let worker = TestWorker(server)
        try await worker.start()
        // The script must be known, else its first call counts twice.
        _ = await worker.judged("app_none")
        let before = try await scriptCalls(registry)
        let sights = (0..<200).map { _ in Task { @Reactor in await worker.directory.load(id: "app_1").app != nil } }
        for sight in sights { #expect(await sight.value) }
        #expect(try await scriptCalls(registry) - before == 1)
        await worker.stop()
        registry.connection.close()
    }

    private func scriptCalls(_ registry: RegistryStore) async throws -> Int {
        let text = try #require(try await registry.connection.call(["INFO", "commandstats"]).text)
        let line = try #require(text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("cmdstat_evalsha:") })
        let calls = line.drop { $0 != "=" }.dropFirst().prefix { $0.isNumber }
        return try #require(Int(calls))
    }

    @Test @Reactor func `an unknown app is remembered until something changes`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        let worker = TestWorker(server)
        try await worker.start()
        #expect(await worker.judged("app_1").word == "unknown")
        #expect(worker.app("app_1").word == "unknown")
        _ = try await registry.create(Sample.app(1), by: "root", events: [])
        #expect(await eventually { worker.app("app_1").word == "unresolved" })
        #expect(await worker.judged("app_1").word == "known")
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `a broken record closes its own app and no other`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        for number in 1...3 { _ = try await registry.create(Sample.app(number), by: "root", events: []) }
        let prefix = "{registry}:app:"
        _ = try await registry.connection.call(["HSET", .text(prefix + Sample.app(1).recordID.rawValue), "j", "{"])
        var unusual = Sample.app(2)
        unusual.origins = ["HTTPS://Shop.example.com:443/"]
        let json = try RecordCoding.encode(unusual)
        _ = try await registry.connection.call(["HSET", .text(prefix + unusual.recordID.rawValue), "j", .text(json)])
        let worker = TestWorker(server)
        try await worker.start()
        #expect(await worker.judged("app_1").word == "broken")
        #expect(worker.app("app_1").word == "broken")
        #expect(await worker.judged("app_2").word == "broken")
        #expect(await worker.judged("app_3").word == "known")
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `sites name the organizations that list them`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        _ = try await registry.create(
            OrganizationRecord(id: OrganizationID(rawValue: "beta"), name: "Beta", createdAt: 2),
            by: "root",
            events: []
        )
        let site = "https://shared.example.com"
        for (number, owner) in [(1, "acme"), (2, "beta"), (3, "acme")] {
            var record = Sample.app(number, organization: owner)
            record.origins = [site]
            _ = try await registry.create(record, by: "root", events: [])
        }
        let worker = TestWorker(server)
        try await worker.start()
        let directory = worker.directory
        #expect(directory.organizations(site: site.utf8.span) == .unresolved)
        let both = [OrganizationID(rawValue: "acme"), OrganizationID(rawValue: "beta")]
        #expect(await directory.load(site: site) == .known(both))
        #expect(directory.organizations(site: site.utf8.span) == .known(both))
        #expect(await directory.load(site: "https://stranger.example.com") == .known([]))
        _ = try await registry.change(app: .appID(AppID(rawValue: "app_2")), by: "root") { record in
            record.origins = []
            return []
        }
        #expect(await eventually { directory.organizations(site: site.utf8.span) == .unresolved })
        #expect(await directory.load(site: site) == .known([both[0]]))
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `a full directory lets go of what is not used`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        for number in 1...30 { _ = try await registry.create(Sample.app(number), by: "root", events: []) }
        let worker = TestWorker(server, capacity: 10)
        try await worker.start()
        for number in 1...30 {
            #expect(await worker.judged("app_\(number)").word == "known")
            #expect(worker.app("app_1").word == "known" || number > 1)
        }
        let kept = (1...30).count { worker.app("app_\($0)").word == "known" }
        #expect(kept == 10)
        await worker.stop()
        registry.connection.close()
    }
}
