// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Testing
import Transport

@testable import Store

@Suite(.onLoop) struct RevocationsTests {
    private let app = RecordID(rawValue: "000000000000000000000001")
    private let acme = OrganizationID(rawValue: "acme")
    private let far: Int64 = 4_000_000_000_000

    @Reactor
    private func revoke(_ revocation: Revocation, in registry: RegistryStore) async throws -> Int {
        try await registry.revoke(
            revocation,
            app: app,
            organization: acme,
            by: "root",
            events: [HistoryEvent("tokens_revoked")]
        )
    }

    @Test @Reactor func `a revoked token is refused on every worker once that is confirmed`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        let workers = (0..<2).map { TestWorker(server, name: "worker\($0)") }
        for worker in workers { try await worker.start() }
        for number in 0..<50 {
            let id = "jti-\(number)"
            for worker in workers { #expect(!worker.revokes(id)) }
            let token = Revocation.Token(id: id, expiresAt: far)
            let sequence = try await revoke(Revocation(tokens: [token]), in: registry)
            #expect(try await registry.waitApplied(sequence: sequence, timeout: .seconds(10)) == .confirmed)
            for worker in workers { #expect(worker.revokes(id)) }
        }
        #expect(!workers[0].revokes("jti-5x"))
        #expect(try await registry.history(app: app, limit: 100).elements.count == 50)
        #expect(workers.allSatisfy { $0.feed.resyncs == 1 })
        for worker in workers { await worker.stop() }
        registry.connection.close()
    }

    @Test @Reactor func `a watermark ends what was issued before it, of its subject alone`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        let worker = TestWorker(server)
        try await worker.start()
        let key = APIKeyID(rawValue: "key_1")
        let subjects: [RevocationSubject] = [
            .app(app), .key(key), .device(app, "dev/1"), .person(acme, "ali/ce"),
        ]
        for subject in subjects {
            let mark = Revocation.Mark(subject: subject, notBefore: 1_000, expiresAt: far)
            let sequence = try await revoke(Revocation(marks: [mark]), in: registry)
            #expect(try await registry.waitApplied(sequence: sequence, timeout: .seconds(10)) == .confirmed)
            #expect(RevocationSubject(name: subject.name) == subject)
            #expect(worker.revocations.isRevoked(subject, issuedAt: 999))
            #expect(!worker.revocations.isRevoked(subject, issuedAt: 1_000))
        }
        let others: [RevocationSubject] = [
            .app(RecordID(rawValue: "2")), .key(APIKeyID(rawValue: app.rawValue)), .device(app, "dev"),
            .person(OrganizationID(rawValue: "beta"), "ali/ce"), .person(acme, "ali"),
        ]
        for subject in others { #expect(!worker.revocations.isRevoked(subject, issuedAt: 0)) }
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `a watermark never goes back`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        for notBefore: Int64 in [5_000, 2_000] {
            let mark = Revocation.Mark(subject: .app(app), notBefore: notBefore, expiresAt: far)
            _ = try await revoke(Revocation(marks: [mark]), in: registry)
        }
        let worker = TestWorker(server)
        try await worker.start()
        #expect(worker.revocations.isRevoked(.app(app), issuedAt: 4_999))
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `a starting worker knows everything before it serves`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        let tokens = (0..<5_000).map { Revocation.Token(id: "jti-\($0)", expiresAt: far) }
        _ = try await revoke(Revocation(tokens: tokens), in: registry)
        let worker = TestWorker(server)
        try await worker.start()
        #expect(worker.revocations.count == 5_000)
        #expect(tokens.allSatisfy { worker.revokes($0.id) })
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `a revoked token stays revoked while the store restarts`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        _ = try await revoke(Revocation(tokens: [Revocation.Token(id: "jti", expiresAt: far)]), in: registry)
        let worker = TestWorker(server)
        try await worker.start()
        let watch = Task { @Reactor in
            var slips = 0
            while !Task.isCancelled {
                if worker.lease.isValid, !worker.revokes("jti") { slips += 1 }
                do { try await TestLoop.loop.sleep(for: .milliseconds(1)) } catch { break }
            }
            return slips
        }
        server.kill()
        try await server.restart()
        #expect(await eventually { worker.feed.resyncs >= 2 && worker.stream.isReady })
        watch.cancel()
        #expect(await watch.value == 0)
        #expect(worker.revokes("jti"))
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `what has expired is forgotten in the store`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        let old = Revocation(
            tokens: [Revocation.Token(id: "old", expiresAt: 1_000)],
            marks: [Revocation.Mark(subject: .app(app), notBefore: 900, expiresAt: 1_000)]
        )
        _ = try await revoke(old, in: registry)
        _ = try await revoke(Revocation(tokens: [Revocation.Token(id: "new", expiresAt: far)]), in: registry)
        let left = try await registry.connection.call(["ZRANGE", "{registry}:revoked", 0, -1])
        #expect(left.elements?.compactMap(\.text) == ["new"])
        #expect(try await registry.connection.call(["HLEN", "{registry}:marks"]) == .integer(0))
        registry.connection.close()
    }
}
