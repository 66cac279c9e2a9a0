// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Testing
import Transport

@testable import Store

@Suite(.onLoop) struct RegistryIdentityTests {
    /// A worker that remembers the name of the registry, with an app that it knows.
    @Reactor
    private static func stand(leaseLength: Duration = .seconds(30)) async throws -> Stand {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        _ = try await registry.create(Sample.app(1), by: "root", events: [])
        _ = try await registry.create(Sample.app(2), by: "root", events: [])
        let name = try await registry.birth(naming: "first").name
        let memory = Memory(name)
        let identity = RegistryIdentity { memory.name }
        let worker = TestWorker(server, leaseLength: leaseLength, identity: identity)
        try await worker.start()
        #expect(await worker.judged("app_1").word == "known")
        return Stand(server: server, registry: registry, identity: identity, memory: memory, worker: worker)
    }

    @Test @Reactor func `a registry is named once`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        #expect(try await registry.position().name == nil)
        #expect(try await registry.birth(naming: "first") == ("first", 1))
        #expect(try await registry.birth(naming: "second") == ("first", 1))
        #expect(try await registry.position() == ("first", 1))
        registry.connection.close()
    }

    @Test @Reactor func `a registry that was emptied is met as a store that is away`() async throws {
        let stand = try await Self.stand()
        let resyncs = stand.worker.feed.resyncs
        try await stand.empty()
        #expect(await stand.worker.judged("app_2").word == "unavailable", "not unknown: 503, not 401")
        #expect(await eventually { stand.identity.loss == .missing && !stand.worker.connection.isReady })
        #expect(stand.worker.app("app_1").word == "known", "served until the lease ends")
        #expect(await stand.worker.judged("app_3").word == "unavailable")
        #expect(stand.worker.feed.resyncs == resyncs, "nothing was dropped")
        try await stand.end()
    }

    @Test @Reactor func `a registry whose name is gone is told from one that is empty`() async throws {
        let stand = try await Self.stand()
        _ = try await stand.registry.connection.call(["DEL", "{registry}:birth"])
        stand.worker.connection.reset()
        #expect(await eventually { stand.identity.loss == .unnamed && !stand.worker.connection.isReady })
        _ = try await stand.registry.connection.call(["SET", "{registry}:birth", "first"])
        #expect(await eventually { stand.identity.loss == nil && stand.worker.connection.isReady })
        try await stand.end()
    }

    @Test @Reactor func `a foreign registry is met in the same way, also by a connection made anew`() async throws {
        let stand = try await Self.stand(leaseLength: .seconds(3))
        try await stand.empty()
        _ = try await stand.registry.create(Sample.organization, by: "other", events: [])
        _ = try await stand.registry.birth(naming: "other")
        stand.worker.connection.reset()
        stand.worker.stream.reset()
        #expect(await eventually { stand.identity.loss == .foreign("other") })
        #expect(await eventually { !stand.worker.lease.isValid })
        #expect(!stand.worker.connection.isReady)
        try await stand.end()
    }

    @Test @Reactor func `another registry is taken once nothing is remembered`() async throws {
        let stand = try await Self.stand()
        try await stand.empty()
        #expect(await eventually { stand.identity.loss == .missing })
        stand.memory.name = nil
        _ = try await stand.registry.birth(naming: "second")
        #expect(await eventually { stand.identity.loss == nil && stand.worker.connection.isReady })
        #expect(await eventually { stand.worker.app("app_1").word == "unresolved" })
        #expect(await stand.worker.judged("app_1").word == "unknown")
        try await stand.end()
    }

    @Test @Reactor func `a store that lost a revocation revives no token of a running worker`() async throws {
        let stand = try await Self.stand()
        let app = Sample.app(1)
        _ = try await stand.registry.revoke(
            Revocation(
                tokens: [.init(id: "stolen", expiresAt: .max / 2)],
                marks: [.init(subject: .app(app.recordID), notBefore: 1_000, expiresAt: .max / 2)]
            ),
            app: app.recordID,
            organization: app.organization,
            by: "root",
            events: []
        )
        #expect(await eventually { stand.worker.revocations.count == 2 })
        // An older snapshot: the change, its entries and its number are gone.
        let resyncs = stand.worker.feed.resyncs
        for name in ["revoked", "marks", "mark-ends", "changes"] {
            _ = try await stand.registry.connection.call(["DEL", .text("{registry}:" + name)])
        }
        _ = try await stand.registry.connection.call(["SET", "{registry}:sequence", 1])
        #expect(await eventually { stand.worker.feed.resyncs > resyncs && stand.worker.feed.applied == 1 })
        let isTokenRevoked = stand.worker.revocations.isRevoked(token: "stolen".utf8.span)
        #expect(isTokenRevoked)
        #expect(stand.worker.revocations.isRevoked(.app(app.recordID), issuedAt: 999))
        #expect(!stand.worker.revocations.isRevoked(.app(app.recordID), issuedAt: 1_000))
        try await stand.end()
    }
}

/// What the node's file would remember.
@Reactor
private final class Memory {
    var name: String?

    init(_ name: String) { self.name = name }
}

@Reactor
private struct Stand {
    let server: RedisServer
    let registry: RegistryStore
    let identity: RegistryIdentity
    let memory: Memory
    let worker: TestWorker

    /// What a wiped volume leaves; our account may not flush.
    func empty() async throws {
        let names = try await registry.connection.call(["SCAN", "0", "COUNT", "10000"]).elements?.last?.elements ?? []
        for name in names {
            _ = try await registry.connection.call(["DEL", .bytes(name.bytes ?? [])])
        }
    }

    func end() async throws {
        await worker.stop()
        registry.connection.close()
        server.kill()
    }
}
