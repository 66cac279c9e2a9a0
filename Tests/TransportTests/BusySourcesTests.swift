// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Testing

@testable import Transport

@Suite struct BusySourcesTests {
    let loop = LoopThread.loop

    @Test @Reactor func `who took a sixteenth of the loop for a while is busy, and not for ever`() {
        let source = EventSource(loop: loop, descriptor: -1)
        let start: UInt64 = 1_000_000_000
        #expect(!BusySources.charge(source, 200_000, now: start))
        #expect(!BusySources.isBusy(source, start))
        #expect(BusySources.charge(source, 200_000, now: start))
        #expect(!BusySources.charge(source, 200_000, now: start), "told once")
        #expect(BusySources.isBusy(source, start))
        #expect(!BusySources.isBusy(source, start + 10_000_000))
    }

    @Test @Reactor func `a twentieth of the loop makes nobody busy`() {
        let source = EventSource(loop: loop, descriptor: -1)
        var now: UInt64 = 1_000_000_000
        for _ in 0..<1000 {
            #expect(!BusySources.charge(source, 50_000, now: now))
            now += 1_000_000
        }
    }

    @Test @Reactor func `many of one client that take a little each are busy together, while another is heard`() {
        var busy = BusySources()
        let now: UInt64 = 1_000_000_000
        let crowd = (0..<100).map { _ in client(lane: 3) }
        let other = client(lane: 7)
        for source in crowd { busy.chargeLane(of: source, 20_000, now: now) }
        busy.chargeLane(of: other, 20_000, now: now)
        let (isCrowd, isOther) = (busy.isLaneBusy(of: crowd[0], now), busy.isLaneBusy(of: other, now))
        #expect(isCrowd && !isOther)
        let isBusyStill = busy.isLaneBusy(of: crowd[0], now + 50_000_000)
        #expect(!isBusyStill, "their time was spread out by then")
    }

    @Test @Reactor func `a client that is alone is never busy, and is not once the other has gone`() {
        var busy = BusySources()
        let source = client(lane: 3)
        var now: UInt64 = 1_000_000_000
        busy.chargeLane(of: client(lane: 7), 20_000, now: now)
        for _ in 0..<1000 {
            busy.chargeLane(of: source, 500_000, now: now)
            now += 500_000
        }
        let isBusyAlone = busy.isLaneBusy(of: source, now)
        busy.chargeLane(of: client(lane: 7), 20_000, now: now)
        let isBusyThen = busy.isLaneBusy(of: source, now)
        #expect(!isBusyAlone && isBusyThen)
        busy.chargeLane(of: client(lane: 7), 20_000, now: now + 98_000_000)
        let isBusyLater = busy.isLaneBusy(of: source, now + 98_000_000)
        #expect(!isBusyLater, "no more of the past counts")
    }

    @Test @Reactor func `what serves no one client alone is charged to none`() {
        var busy = BusySources()
        let source = EventSource(loop: loop, descriptor: -1)
        let now: UInt64 = 1_000_000_000
        for _ in 0..<100 { busy.chargeLane(of: source, 250_000, now: now) }
        busy.chargeLane(of: client(lane: 7), 20_000, now: now)
        let isBusy = busy.isLaneBusy(of: source, now) || busy.isLaneBusy(of: client(lane: 0), now)
        #expect(!isBusy)
    }

    @Reactor private func client(lane: UInt8) -> EventSource {
        let source = EventSource(loop: loop, descriptor: -1)
        source.lane = lane
        source.servesOneClient = true
        return source
    }

    @Test @Reactor func `busy sources take turns, each once`() {
        var busy = BusySources()
        let sources = (0..<600).map { _ in EventSource(loop: loop, descriptor: -1) }
        for source in sources + sources { busy.append(source) }
        for source in sources.prefix(500) {
            let next = busy.popFirst()
            #expect(next === source)
            busy.append(source)
        }
        for source in sources.suffix(100) + sources.prefix(500) {
            let next = busy.popFirst()
            #expect(next === source)
        }
        let isEmpty = busy.isEmpty
        #expect(isEmpty && sources.allSatisfy { !$0.isWaitingItsTurn })
    }

    @Test @Reactor func `a thousand of one address hold up another's by one slice`() {
        var busy = BusySources()
        let crowd = (0..<1000).map { _ in EventSource(loop: loop, descriptor: -1) }
        for source in crowd { busy.append(source) }
        let other = EventSource(loop: loop, descriptor: -1)
        other.lane = 7
        for _ in 0..<3 {
            busy.append(other)
            let order = (0..<2).compactMap { _ in busy.popFirst() }
            #expect(order.contains { $0 === other })
            for source in order where source !== other { busy.append(source) }
        }
        var left = 0
        while busy.popFirst() != nil { left += 1 }
        #expect(left == 1000)
    }

    @Test func `those of one address, or of one IPv6 network, share a lane, and not all with each other`() throws {
        func lane(_ text: String) throws -> UInt8 { try #require(SocketAddress(parsing: text)).lane }
        #expect(try lane("192.0.2.1:1") == lane("192.0.2.1:2"))
        #expect(try lane("[2001:db8::1]:1") == lane("[2001:db8::2]:2"))
        #expect(try Set((1...200).map { try lane("192.0.2.\($0):1") }).count > 50)
    }

    @Test @Reactor func `an owner that leaves bytes for another turn gets them, and then the end`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        var pieces: [Int] = []
        door.prepare = { _, probe in
            probe.consumes = false
            probe.onReceived = { stream in
                pieces.append(min(10, stream.inbound.count))
                stream.consume(min(10, stream.inbound.count))
                if !stream.inbound.isEmpty { stream.yieldTurn() }
            }
        }
        let client = ByteStream(loop: loop, connectingTo: door.socket.address)
        client.start(owner: Probe())
        client.write([UInt8](repeating: 1, count: 995).span)
        client.closeWrite()
        let (_, server) = try await door.first()
        server.onEnded = { _ in #expect(pieces.reduce(0, +) == 995) }
        try await eventually(loop) { server.hasEnded }
        #expect(pieces.count >= 100)
        client.close()
    }

    @Test @Reactor func `many events at once are spread over turns, and none is lost`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        var turns: [UInt64] = []
        // Each piece takes a fifth of a millisecond.
        door.prepare = { [loop] _, probe in
            probe.onReceived = { _ in
                turns.append(loop.now.nanoseconds)
                let end = MonotonicInstant.readClock().advanced(by: .microseconds(200))
                while MonotonicInstant.readClock() < end {}
            }
        }
        let clients = (0..<80).map { _ in ByteStream(loop: loop, connectingTo: door.socket.address) }
        for client in clients { client.start(owner: Probe()) }
        try await eventually(loop) { door.probes.count == clients.count }
        for client in clients { client.write("x") }
        try await eventually(loop) { turns.count >= clients.count }
        let most = Dictionary(grouping: turns) { $0 }.values.map(\.count).max() ?? 0
        #expect(most <= 16, "eight events, and busy sources' share")
        for client in clients { client.close() }
    }

    @Test @Reactor func `others are served while one keeps the loop busy`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        var heard: [Character] = []
        // Each byte of the first connection takes a millisecond.
        door.prepare = { [loop] _, probe in
            probe.consumes = false
            probe.onReceived = { stream in
                let isSlow = stream.inbound.bytes[0] == 0x61
                if isSlow {
                    let end = MonotonicInstant.readClock().advanced(by: .milliseconds(1))
                    while MonotonicInstant.readClock() < end {}
                }
                heard.append(isSlow ? "a" : "b")
                stream.consume(1)
                if !stream.inbound.isEmpty { stream.yieldTurn() }
                _ = loop
            }
        }
        let slow = ByteStream(loop: loop, connectingTo: door.socket.address)
        let quick = ByteStream(loop: loop, connectingTo: door.socket.address)
        slow.start(owner: Probe())
        quick.start(owner: Probe())
        slow.write([UInt8](repeating: 0x61, count: 400).span)
        try await eventually(loop) { heard.count > 10 }
        for _ in 0..<5 {
            let before = heard.count
            quick.write("b")
            try await eventually(loop) { heard.dropFirst(before).contains("b") }
            // Behind all of them it would wait for hundreds; a machine with other work lets it miss some turns.
            #expect(heard.dropFirst(before).prefix { $0 == "a" }.count < 200)
        }
        try await eventually(loop) { heard.filter { $0 == "a" }.count == 400 }
        slow.close()
        quick.close()
    }
}
