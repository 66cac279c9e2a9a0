// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Transport

@Suite struct BacklogTests {
    let loop = LoopThread.loop

    @Test @Reactor func `two who have work at once both get on with it, and the end of one is not that of the other`()
        async throws
    {
        let (one, other) = (Backlog(loop: loop), Backlog(loop: loop))
        var (left, done) = (3, 0)
        one.begin {
            left -= 1
            if left == 0 { one.end() }
        }
        other.begin { done += 1 }
        try await eventually(loop) { left == 0 }
        let before = done
        try await eventually(loop) { done > before + 3 }
        #expect(left == 0 && !one.isOn && other.isOn)
        other.end()
        // Once it has ended nothing of it is called, and it may begin again.
        let last = done
        for _ in 0..<3 { await loop.nextTurn() }
        #expect(done == last)
        other.begin { other.end() }
        try await eventually(loop) { !other.isOn }
    }

    @Test @Reactor func `one that ends another in its turn is the last to be called`() async throws {
        let (one, other) = (Backlog(loop: loop), Backlog(loop: loop))
        var calls = 0
        one.begin {
            other.end()
            one.end()
        }
        other.begin { calls += 1 }
        try await eventually(loop) { !one.isOn }
        await loop.nextTurn()
        #expect(calls == 0 && !other.isOn)
    }
}
