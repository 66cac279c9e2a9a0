// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Glibc
import Testing
import Transport

@testable import Store

extension ChangeFeedTests {
    @Test @Reactor func `known apps are served while the store is away, until the lease ends`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        _ = try await registry.create(Sample.app(1), by: "root", events: [])
        let worker = TestWorker(server, leaseLength: .seconds(3))
        try await worker.start()
        _ = await worker.judged("app_1")
        let gone = MonotonicInstant.readClock()
        server.kill()
        #expect(await eventually { !worker.connection.isReady })
        #expect(worker.app("app_1").word == "known")
        // Unknown is not the same as nobody: 503, not 401.
        #expect(await worker.judged("app_2").word == "unavailable")
        // Before each look, so that a busy machine, which looks late, makes nothing of it.
        var lastServed = gone
        #expect(
            await eventually {
                let looked = MonotonicInstant.readClock()
                if worker.app("app_1").word == "unavailable" { return true }
                lastServed = looked
                return false
            }
        )
        #expect(MonotonicInstant.readClock().duration(since: gone) > .milliseconds(1_200))
        #expect(lastServed.duration(since: gone) < .milliseconds(2_600))
        try await server.restart()
        #expect(await eventually { worker.lease.isValid && worker.connection.isReady })
        #expect(await worker.judged("app_1").word == "known")
        #expect(await eventually { worker.feed.resyncs == 2 })
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `a store that takes no writes costs nobody what is known`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        _ = try await registry.create(Sample.app(1), by: "root", events: [])
        let worker = TestWorker(server, leaseLength: .seconds(10))
        try await worker.start()
        _ = await worker.judged("app_1")
        _ = try await registry.connection.call(["CONFIG", "SET", "maxmemory", "1"])
        let first = worker.stream.generation
        worker.feed.needsResync = true
        worker.stream.reset()
        #expect(await eventually { worker.stream.isReady && worker.stream.generation != first })
        try await TestLoop.loop.sleep(for: .milliseconds(200))
        #expect(worker.feed.resyncs == 1 && worker.app("app_1").word == "known")
        _ = try await registry.connection.call(["CONFIG", "SET", "maxmemory", "0"])
        #expect(await eventually { worker.feed.resyncs == 2 && worker.lease.isValid })
        #expect(await worker.judged("app_1").word == "known")
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `after a restart of the store no app is lost for a moment`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        _ = try await registry.create(Sample.app(1), by: "root", events: [])
        let worker = TestWorker(server)
        try await worker.start()
        _ = await worker.judged("app_1")
        let failures = Task { @Reactor in
            var failures = 0
            while !Task.isCancelled {
                if await worker.judged("app_1").word != "known" { failures += 1 }
                do { try await TestLoop.loop.sleep(for: .milliseconds(1)) } catch { break }
            }
            return failures
        }
        server.kill()
        try await server.restart()
        #expect(await eventually { worker.feed.resyncs == 2 && worker.feed.applied != nil })
        try await TestLoop.loop.sleep(for: .milliseconds(50))
        failures.cancel()
        #expect(await failures.value == 0)
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `in the first lease of another epoch nothing is confirmed`() async throws {
        let server = try await RedisServer.launched()
        // As an external server, whose replica may have taken over.
        var endpoint = server.embedded.endpoint
        endpoint.losesNothing = false
        let connection = RedisConnection(
            loop: TestLoop.loop,
            endpoint: endpoint,
            options: RedisConnection.Options(name: "control", deadline: .seconds(5))
        )
        connection.start()
        try await connection.becomeReady(within: .seconds(5))
        let registry = RegistryStore(connection: connection, loop: TestLoop.loop)
        _ = try await registry.create(Sample.organization, by: "root", events: [])
        let worker = TestWorker(server, leaseLength: .seconds(2), endpoint: endpoint)
        try await worker.start()
        func confirmation(of number: Int, within timeout: Duration) async throws -> Store.Confirmation {
            let outcome = try await registry.create(Sample.app(number), by: "root", events: [])
            return try await registry.waitApplied(sequence: try #require(outcome.sequence), timeout: timeout)
        }
        #expect(try await confirmation(of: 1, within: .seconds(10)) == .confirmed)
        server.kill()
        #expect(await eventually { !connection.isReady })
        try await server.restart()
        try await connection.becomeReady(within: .seconds(5))
        #expect(await eventually { worker.feed.resyncs == 2 && worker.lease.isValid })
        guard case .pending(_, let names) = try await confirmation(of: 2, within: .milliseconds(100)) else {
            Issue.record("confirmed in the first lease of an epoch")
            return
        }
        #expect(names.contains("(failover)"))
        #expect(try await confirmation(of: 3, within: .seconds(4)) == .confirmed)
        await worker.stop()
        connection.close()
    }

    @Test @Reactor func `a gap in the numbers drops everything and reads again`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        _ = try await registry.create(Sample.app(1), by: "root", events: [])
        let worker = TestWorker(server)
        try await worker.start()
        _ = await worker.judged("app_1")
        // A change whose entry this worker never sees: the record is new, the stream begins after it.
        var record = Sample.app(1)
        record.name = "unseen"
        let json = try RecordCoding.encode(record)
        let key = RedisArgument.text("{registry}:app:" + record.recordID.rawValue)
        _ = try await registry.connection.call(["HSET", key, "j", .text(json), "v", "2"])
        _ = try await registry.connection.call(["INCR", "{registry}:sequence"])
        #expect(worker.app("app_1").app?.record.name != "unseen")
        _ = try await registry.create(Sample.app(2), by: "root", events: [])
        #expect(await eventually { worker.feed.resyncs == 2 && worker.feed.applied == 4 })
        #expect(await worker.judged("app_1").app?.record.name == "unseen")
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `a store that went back in time is noticed`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        for number in 1...3 { _ = try await registry.create(Sample.app(number), by: "root", events: []) }
        let worker = TestWorker(server)
        try await worker.start()
        #expect(worker.feed.applied == 4)
        // What a failover to a replica that lagged behind looks like.
        _ = try await registry.connection.call(["DEL", "{registry}:changes"])
        _ = try await registry.connection.call(["SET", "{registry}:sequence", 2])
        #expect(await eventually { worker.feed.resyncs == 2 && worker.feed.applied == 2 })
        await worker.stop()
        registry.connection.close()
    }
}
