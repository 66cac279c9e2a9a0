// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Testing
import Transport

@testable import Store

@Suite(.onLoop) struct SharedKeysTests {
    @Test @Reactor func `a shared document that two make at once is made once`() async throws {
        let server = try await RedisServer.launched()
        let one = try await server.registry()
        let other = RegistryStore(connection: try await server.connected(), loop: TestLoop.loop)
        func make(_ store: RegistryStore, _ id: String) async throws(RegistryError) -> String? {
            try await store.change(KeyringDocument.self, by: id) { document throws(RegistryError) in
                guard document.seal == nil else { return [] }
                document.seal = id
                return [HistoryEvent("keyring_made")]
            }.document.seal
        }
        async let first = make(one, "k1")
        async let second = make(other, "k2")
        let made = try await [first, second]
        #expect(made[0] == made[1] && made[0] != nil)
        #expect(try await one.gatewayHistory().elements.count == 1)
        #expect(try await one.document(KeyringDocument.self).version == 1)
        one.connection.close()
        other.connection.close()
    }

    @Test @Reactor func `a change of a shared document is a change of the registry's stream`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        let worker = TestWorker(server)
        try await worker.start()
        let change = try await registry.change(KeyringDocument.self, by: "root") { document throws(RegistryError) in
            document.pepper = "k1"
            return []
        }
        let sequence = try #require(change.sequence)
        #expect(try await registry.waitApplied(sequence: sequence, timeout: .seconds(10)) == .confirmed)
        #expect(worker.feed.resyncs == 1)
        let again = try await registry.change(KeyringDocument.self, by: "root") { document throws(RegistryError) in
            document.pepper = "k1"
            return []
        }
        #expect(again.sequence == nil)
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `a key set is told of once, and an older fetch never replaces a newer one`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        let set = SharedKeySet(source: "https://a.example/", bytes: [1, 2, 3], fetchedAt: 5_000)
        #expect(try await registry.keep(set, of: "acme"))
        var confirmed = set
        confirmed.fetchedAt = 6_000
        #expect(try await !registry.keep(confirmed, of: "acme"))
        #expect(try await registry.keySet(of: "acme", from: set.source) == confirmed)
        #expect(try await !registry.keep(SharedKeySet(source: set.source, bytes: [9], fetchedAt: 5_500), of: "acme"))
        #expect(try await registry.keySet(of: "acme", from: set.source) == confirmed)
        #expect(try await registry.keySet(of: "acme", from: "https://b.example/") == nil)
        #expect(
            try await registry.keep(SharedKeySet(source: "https://b.example/", bytes: [9], fetchedAt: 1), of: "acme")
        )
        let life = try await registry.connection.call(["PTTL", "{registry}:issuer:acme"])
        #expect((86_000_000...86_400_000).contains(try #require(life.integer)))
        registry.connection.close()
    }

    @Test @Reactor func `one fetch for an unknown key is given out in a pause`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        #expect(try await registry.mayRefetch("acme", pause: .seconds(30)))
        for _ in 0..<20 { #expect(try await !registry.mayRefetch("acme", pause: .seconds(30))) }
        #expect(try await registry.mayRefetch("beta", pause: .seconds(30)))
        registry.connection.close()
    }

    @Test @Reactor func `a node names its keys, and one that is silent for a minute is forgotten`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        let one = NodeKeys(node: "a", seals: ["k1"], peppers: ["k2", "k3"])
        let other = NodeKeys(node: "b", seals: [], peppers: ["k2"])
        #expect(try await registry.announce(one) == [one])
        #expect(try await registry.announce(other) == [one, other])
        _ = try await registry.connection.call(["HSET", "{registry}:nodes", "a", "1000 {}"])
        #expect(try await registry.announce(other) == [other])
        registry.connection.close()
    }

    @Test @Reactor func `what is revoked is found by id and by watermark`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        let app = RecordID(rawValue: "000000000000000000000001")
        let acme = OrganizationID(rawValue: "acme")
        let far: Int64 = 4_000_000_000_000
        let revocation = Revocation(
            tokens: [.init(id: "jti", expiresAt: far)],
            marks: [.init(subject: .person(acme, "a"), notBefore: 2_000, expiresAt: far)]
        )
        _ = try await registry.revoke(revocation, app: app, organization: acme, by: "root", events: [])
        #expect(try await registry.isRevoked("jti", [], issuedAt: 0))
        #expect(try await !registry.isRevoked("jtj", [.app(app)], issuedAt: 0))
        #expect(try await registry.isRevoked(nil, [.app(app), .person(acme, "a")], issuedAt: 1_999))
        #expect(try await !registry.isRevoked(nil, [.app(app), .person(acme, "a")], issuedAt: 2_000))
        registry.connection.close()
    }
}
