// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Glibc
import Testing

@testable import Transport

@Suite struct LoopTurnTests {
    let loop = LoopThread.loop

    @Test @Reactor func `a few pieces of work are done at once, the others later, and those given up never`()
        async throws
    {
        var done: [Int] = []
        var waiting: [LoopTurn] = []
        for number in 0..<20 {
            if let turn = LoopTurn.take(on: loop, lane: 0, { done.append(number) }) { waiting.append(turn) }
        }
        let atOnce = done.count
        #expect((1...4).contains(atOnce) && waiting.count == 20 - atOnce)
        waiting.last?.giveUp()
        try await eventually(loop) { done.count == 19 }
        #expect(done == Array(0..<19), "in order")
    }

    @Test @Reactor func `many sockets closed at once are closed over several turns, and each peer hears of it`()
        async throws
    {
        let door = try Door(loop)
        defer { door.close() }
        let probes = (0..<330).map { _ in Probe() }
        let clients = (0..<330).map { _ in ByteStream(loop: loop, connectingTo: door.socket.address) }
        for (client, probe) in zip(clients, probes) { client.start(owner: probe) }
        try await eventually(loop) { door.streams.count == 330 && probes.allSatisfy(\.isConnected) }
        let descriptors = door.streams.map(\.descriptor)
        for stream in door.streams { stream.close() }
        // How many are still open when each turn has done the rest of its work, until none is.
        var open: [Int] = []
        let sampler = TurnEnd(loop: loop)
        sampler.onEnd = { [unowned sampler] in
            open.append(door.streams.filter { $0.descriptor >= 0 }.count)
            if open.last != 0 { sampler.enlist() }
        }
        sampler.enlist()
        #expect(door.streams.allSatisfy { $0.isClosed && !$0.isRegistered })
        #expect(descriptors.filter { fcntl($0, F_GETFD) >= 0 }.count >= 326, "all but four at most")
        try await eventually(loop) { open.last == 0 }
        #expect(open.filter { (1..<326).contains($0) }.count >= 2, "\(open): three turns at least")
        try await eventually(loop) { probes.allSatisfy(\.hasEnded) }
        #expect(door.streams.allSatisfy { $0.descriptor == -1 })
        for client in clients { client.close() }
    }

    @Test @Reactor func `nobody is let in while a crowd of sockets waits to be closed`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        let clients = (0..<330).map { _ in ByteStream(loop: loop, connectingTo: door.socket.address) }
        for client in clients { client.start(owner: Probe()) }
        try await eventually(loop) { door.streams.count == 330 }
        var crowdAtEntry: [Bool] = []
        door.prepare = { [loop] _, _ in crowdAtEntry.append(loop.closing.isCrowded) }
        let late = ByteStream(loop: loop, connectingTo: door.socket.address)
        late.start(owner: Probe())
        for stream in door.streams { stream.close() }
        let isCrowded = loop.closing.isCrowded
        #expect(isCrowded)
        try await eventually(loop) { door.streams.count == 331 }
        #expect(crowdAtEntry == [false])
        late.close()
        for client in clients { client.close() }
    }

    @Test @Reactor
    func `timers that are due at once are spread over turns, and one that is cancelled meanwhile does not fire`()
        async throws
    {
        var fired: [UInt64] = []
        let timers = (0..<60).map { _ in LoopTimer(loop: loop) }
        for (number, timer) in timers.enumerated() {
            timer.onFire = { [loop] in
                fired.append(loop.now.nanoseconds)
                if fired.count == 1 { timers[number == 0 ? 59 : 0].cancel() }
                let end = MonotonicInstant.readClock().advanced(by: .microseconds(100))
                while MonotonicInstant.readClock() < end {}
            }
        }
        let due = loop.now.advanced(by: .milliseconds(20))
        for timer in timers { timer.arm(at: due) }
        try await eventually(loop) { fired.count >= 59 }
        try await loop.sleep(for: .milliseconds(30))
        #expect(fired.count == 59)
        let most = Dictionary(grouping: fired) { $0 }.values.map(\.count).max() ?? 0
        #expect(most <= 16, "half a millisecond's worth, and some")
    }

    @Test @Reactor func `a timer that is due and was freed before its turn does not fire`() async throws {
        var fired = 0
        var timers = (0..<60).map { _ in LoopTimer(loop: loop) }
        for timer in timers {
            timer.onFire = {
                fired += 1
                timers.removeSubrange(min(8, timers.count)...)
                let end = MonotonicInstant.readClock().advanced(by: .milliseconds(1))
                while MonotonicInstant.readClock() < end {}
            }
        }
        let due = loop.now.advanced(by: .milliseconds(20))
        for timer in timers { timer.arm(at: due) }
        try await eventually(loop) { fired > 0 }
        try await loop.sleep(for: .milliseconds(80))
        #expect(
            timers.count == 8 && fired <= 12,
            "\(fired): the eight that are left, and those taken up with the first"
        )
    }

    @Test @Reactor func `the kernel keeps little for a peer that does not read`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        door.prepare = { stream, _ in stream.pauseReading() }
        let client = ByteStream(loop: loop, connectingTo: door.socket.address)
        client.start(owner: Probe())
        _ = try await door.first()
        client.write([UInt8](repeating: 1, count: 16 << 20).span)
        try await eventually(loop) { !client.mayWrite }
        var unsent: CInt = 0
        // SIOCOUTQNSD, which Swift cannot see: what is queued and was not sent.
        #expect(unsafe ioctl(client.descriptor, 0x894B, &unsent) == 0)
        #expect(unsent > 0 && unsent <= 1280 << 10, "\(unsent)")
        client.close()
    }
}
