// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Synchronization
import Testing
import Transport

@testable import Store

/// The event loop of the test process, on a thread of its own.
enum TestLoop {
    private static let running = Mutex<EventLoop?>(nil)

    /// The loop; started by the first who asks.
    static let loop: EventLoop = {
        var thread = pthread_t()
        unsafe pthread_create(&thread, nil, testLoopThread, nil)
        while true {
            if let loop = running.withLock({ $0 }) { return loop }
            usleep(1_000)
        }
    }()

    fileprivate static func note(_ loop: EventLoop) {
        running.withLock { $0 = loop }
    }
}

private nonisolated func testLoopThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    Reactor.run { TestLoop.note($0) }
    return nil
}

/// Starts the loop before a test that runs on it: nobody else would.
struct LoopRunning: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    @concurrent
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        _ = TestLoop.loop
        try await function()
    }
}

extension Trait where Self == LoopRunning {
    static var onLoop: Self { Self() }
}

extension RedisServer {
    /// A connection that is ready.
    @Reactor
    func connected(name: String = "test", deadline: Duration = .seconds(5)) async throws -> RedisConnection {
        let connection = RedisConnection(
            loop: TestLoop.loop,
            endpoint: embedded.endpoint,
            options: RedisConnection.Options(name: name, deadline: deadline)
        )
        connection.start()
        try await connection.becomeReady(within: .seconds(10))
        return connection
    }
}

extension RedisConnection {
    /// Waits until calls can be sent, for `timeout` at most.
    func becomeReady(within timeout: Duration) async throws(StoreError) {
        guard await eventually(within: timeout, { isReady }) else { throw .unavailable }
    }
}

/// Waits until `condition` holds, for `timeout` at most.
@Reactor
func eventually(within timeout: Duration = .seconds(10), _ condition: @Reactor () -> Bool) async -> Bool {
    let end = MonotonicInstant.readClock().advanced(by: timeout)
    while MonotonicInstant.readClock() < end {
        if condition() { return true }
        do { try await TestLoop.loop.sleep(for: .milliseconds(10)) } catch { return false }
    }
    return condition()
}
