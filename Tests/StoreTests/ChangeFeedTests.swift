// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Glibc
import Testing
import Transport

@testable import Store

@Suite(.onLoop) struct ChangeFeedTests {
    @Test @Reactor func `a change is judged by the new value within 100 ms on every worker`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        _ = try await registry.create(Sample.app(1), by: "root", events: [])
        let workers = (0..<3).map { TestWorker(server, name: "worker\($0)") }
        for worker in workers {
            try await worker.start()
            _ = await worker.judged("app_1")
        }
        var delays: [Duration] = []
        for number in 0..<100 {
            let outcome = try await registry.change(app: .appID(AppID(rawValue: "app_1")), by: "root") { record in
                record.name = "n\(number)"
                return []
            }
            let answered = MonotonicInstant.readClock()
            let sequence = try #require(outcome.sequence)
            for worker in workers {
                while await worker.judged("app_1").app?.record.name != "n\(number)" {
                    if MonotonicInstant.readClock().duration(since: answered) > .seconds(5) { break }
                    try await TestLoop.loop.sleep(for: .milliseconds(1))
                }
            }
            delays.append(MonotonicInstant.readClock().duration(since: answered))
            #expect(try await registry.waitApplied(sequence: sequence, timeout: .seconds(10)) == .confirmed)
        }
        // The machine that tests is shared: the median here, the 99th percentile in the test of the whole gateway.
        #expect(delays.sorted()[50] < .milliseconds(100))
        #expect(workers.allSatisfy { $0.feed.resyncs == 1 })
        for worker in workers { await worker.stop() }
        registry.connection.close()
    }

    @Test @Reactor func `confirmed means that no worker judges by the old value`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        _ = try await registry.create(Sample.app(1), by: "root", events: [])
        let workers = (0..<2).map { TestWorker(server, name: "worker\($0)") }
        for worker in workers {
            try await worker.start()
            _ = await worker.judged("app_1")
        }
        for round in 0..<100 {
            let isEnabled = round % 2 == 1
            let outcome = try await registry.change(app: .appID(AppID(rawValue: "app_1")), by: "root") { record in
                record.isEnabled = isEnabled
                return []
            }
            let sequence = try #require(outcome.sequence)
            #expect(try await registry.waitApplied(sequence: sequence, timeout: .seconds(10)) == .confirmed)
            for worker in workers { #expect(await worker.judged("app_1").app?.isEnabled == isEnabled) }
        }
        for worker in workers { await worker.stop() }
        registry.connection.close()
    }

    @Test @Reactor func `a worker that hears nothing is waited for until its lease ends`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        let deaf = TestWorker(server, name: "deaf", leaseLength: .seconds(2))
        let other = TestWorker(server, name: "other", leaseLength: .seconds(2))
        try await deaf.start()
        try await other.start()
        // Its stream is gone, its renewals go on: as good as stopped.
        deaf.stream.close()
        let sequence = try #require(
            try await registry.create(Sample.app(1), by: "root", events: []).sequence
        )
        let state = try await registry.waitApplied(sequence: sequence, timeout: .milliseconds(100))
        let now = try await RedisRequirements.time(of: registry.connection)
        guard case .pending(let effectiveBy, let waitingFor) = state else {
            Issue.record("confirmed by a deaf worker")
            return
        }
        #expect(waitingFor == ["deaf"])
        #expect(effectiveBy > now && effectiveBy <= now + 2_000)
        #expect(try await registry.waitApplied(sequence: sequence, timeout: .seconds(4)) == .confirmed)
        // By then it serves nothing either.
        #expect(!deaf.lease.isValid)
        #expect(other.lease.isValid)
        await deaf.stop()
        await other.stop()
        registry.connection.close()
    }

    @Test @Reactor func `an organization's change reaches all its apps`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        for number in 1...2 { _ = try await registry.create(Sample.app(number), by: "root", events: []) }
        let worker = TestWorker(server)
        try await worker.start()
        for number in 1...2 { #expect(await worker.judged("app_\(number)").app?.isEnabled == true) }
        _ = try await registry.change(organization: OrganizationID(rawValue: "acme"), by: "root") { record in
            record.isEnabled = false
            return []
        }
        #expect(await eventually { worker.app("app_1").word == "unresolved" })
        for number in 1...2 { #expect(await worker.judged("app_\(number)").app?.isEnabled == false) }
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `a worker that leaves in order is not waited for`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        let worker = TestWorker(server)
        try await worker.start()
        await worker.stop()
        let sequence = try #require(try await registry.create(Sample.app(1), by: "root", events: []).sequence)
        #expect(try await registry.waitApplied(sequence: sequence, timeout: .zero) == .confirmed)
        registry.connection.close()
    }

    @Test @Reactor func `a load that a change overtook is not kept`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        _ = try await registry.create(Sample.app(1), by: "root", events: [])
        let worker = TestWorker(server)
        try await worker.start()
        // The same app is loaded all the time while it changes: what is kept is never older than what is applied.
        let loads = Task { @Reactor in
            while !Task.isCancelled {
                _ = await worker.directory.load(id: "app_1")
                // A load that fails at once would never let go of the loop.
                await Task.yield()
            }
        }
        for number in 2...150 {
            let outcome = try await registry.change(app: .appID(AppID(rawValue: "app_1")), by: "root") { record in
                record.createdAt = Int64(number)
                return []
            }
            let sequence = try #require(outcome.sequence)
            #expect(await eventually { (worker.feed.applied ?? 0) >= sequence })
            let kept = worker.app("app_1")
            #expect(kept.word == "unresolved" || kept.app?.record.createdAt == Int64(number))
        }
        loads.cancel()
        await loads.value
        await worker.stop()
        registry.connection.close()
    }

    @Test @Reactor func `a load is not held up by changes of other apps`() async throws {
        let server = try await RedisServer.launched()
        let registry = try await server.registry()
        for number in 1...2 { _ = try await registry.create(Sample.app(number), by: "root", events: []) }
        let worker = TestWorker(server)
        try await worker.start()
        let other = try #require(try await registry.app(.appID(AppID(rawValue: "app_2")))).recordID.rawValue
        let entry = RedisReply.array([
            .bytes(Array("9-0".utf8)),
            .array(
                ["kind", "app", "id", other, "organization", "acme", "sites", "[]"].map { .bytes(Array($0.utf8)) }
            ),
        ])
        let notice = try #require(RegistryNotice(entry: entry))
        // Whatever another tenant does, as fast as the loop turns.
        let changes = Task { @Reactor in
            while !Task.isCancelled {
                _ = worker.directory.apply(notice)
                await Task.yield()
            }
        }
        for _ in 0..<50 {
            guard case .known(let app) = await worker.directory.load(id: "app_1") else {
                Issue.record("it was held up")
                break
            }
            #expect(app.appID.rawValue == "app_1")
        }
        changes.cancel()
        await changes.value
        await worker.stop()
        registry.connection.close()
    }
}
