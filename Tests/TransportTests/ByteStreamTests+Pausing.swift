// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Glibc
import Testing
import Transport

extension ByteStreamTests {
    @Test @Reactor func `what arrived while paused is delivered on resume without a new event`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        let (client, _, stream, server) = try await door.pair()
        for round in 1...50 {
            stream.pauseReading()
            client.write("0123456789")
            try await loop.sleep(for: .milliseconds(round % 5 == 0 ? 15 : 0))
            stream.resumeReading()
            try await eventually(loop) { server.receivedCount == round * 10 }
        }
        client.close()
    }

    @Test @Reactor func `bytes left in the buffer are reported again on resume`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        door.prepare = { _, probe in
            probe.consumes = false
            probe.onReceived = { $0.pauseReading() }
        }
        let client = ByteStream(loop: loop, connectingTo: door.socket.address)
        client.start(owner: Probe())
        client.write("pipelined")
        let (stream, server) = try await door.first()
        try await eventually(loop) { stream.inbound.count == 9 }
        server.onReceived = nil
        server.consumes = true
        stream.resumeReading()
        try await eventually(loop) { server.text == "pipelined" }
        client.close()
    }

    @Test @Reactor func `a full inbound buffer stops reading until it is consumed`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        door.prepare = { _, probe in probe.consumes = false }
        let client = ByteStream(loop: loop, connectingTo: door.socket.address)
        client.start(owner: Probe())
        for _ in 0..<20 { client.write(pattern(100_000).span) }
        let (stream, _) = try await door.first()
        try await eventually(loop) { stream.inbound.count >= 64 << 10 }
        try await loop.sleep(for: .milliseconds(50))
        #expect(stream.inbound.count < 256 << 10)
        var total = 0
        while total < 2_000_000 {
            try await eventually(loop) { !stream.inbound.isEmpty }
            total += stream.inbound.count
            stream.consume(stream.inbound.count)
        }
        #expect(total == 2_000_000)
        client.close()
    }

    @Test @Reactor func `a reset is reported even to a paused stream`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        let client = ByteStream(loop: loop, connectingTo: door.socket.address)
        client.start(owner: Probe())
        let (stream, server) = try await door.first()
        stream.pauseReading()
        client.pauseReading()
        stream.write("never read")
        try await loop.sleep(for: .milliseconds(20))
        client.close()
        try await eventually(loop) { server.isClosed }
        #expect(server.failure == .reset)
    }

    @Test @Reactor func `an answer before a reset waits for a paused reader, and is followed by the failure`()
        async throws
    {
        let door = try Door(loop)
        defer { door.close() }
        door.prepare = { _, probe in probe.consumes = false }
        let client = ByteStream(loop: loop, connectingTo: door.socket.address)
        let probe = Probe()
        client.start(owner: probe)
        client.write("request")
        let (stream, _) = try await door.first()
        try await eventually(loop) { stream.inbound.count == 7 }
        client.pauseReading()
        stream.write(pattern(30_000).span)
        stream.flushNow()
        client.write("never read")
        client.flushNow()
        stream.reset()
        try await loop.sleep(for: .milliseconds(20))
        client.write("not even sent")
        try await loop.sleep(for: .milliseconds(20))
        #expect(!probe.isClosed && !client.isOpen && client.outboundCount == 0)
        client.resumeReading()
        try await eventually(loop) { probe.isClosed }
        #expect(probe.received == pattern(30_000))
        #expect(probe.failure == .reset)
    }

    /// Takes a byte at a time and lets the others have their turn in between.
    @Reactor private func sipping(_ probe: Probe, first: @escaping @Reactor () -> Void = {}) {
        probe.consumes = false
        probe.onReceived = { stream in
            if probe.received.isEmpty { first() }
            probe.received.append(stream.inbound.bytes[0])
            stream.consume(1)
            if !stream.inbound.isEmpty { stream.yieldTurn() }
        }
    }

    @Test @Reactor func `a reset that comes while a stream waits for its turn loses nothing that came before`()
        async throws
    {
        let door = try Door(loop)
        defer { door.close() }
        let (_, probe, stream, _) = try await door.pair()
        sipping(probe) { stream.reset() }
        stream.write(pattern(60_000).span)
        try await eventually(loop) { probe.isClosed }
        #expect(probe.received.count == 60_000 && probe.received.last == pattern(60_000).last)
        #expect(probe.failure == .reset)
    }

    @Test @Reactor func `a reset directly behind the data waits until they are looked at`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        let (_, probe, stream, _) = try await door.pair()
        sipping(probe)
        // Both fall into one turn of the loop, so that one event tells of them.
        stream.write(pattern(3_000).span)
        stream.flushNow()
        stream.reset()
        usleep(1000)
        try await eventually(loop) { probe.isClosed }
        #expect(probe.received.count == 3_000 && probe.received.last == pattern(3_000).last)
        #expect(probe.failure == .reset)
    }

    @Test @Reactor func `a reset directly behind the data waits for a reader that paused at their sight`() async throws
    {
        let door = try Door(loop)
        defer { door.close() }
        let (client, probe, stream, _) = try await door.pair()
        probe.consumes = false
        probe.onReceived = { $0.pauseReading() }
        stream.write(pattern(3_000).span)
        stream.flushNow()
        stream.reset()
        try await eventually(loop) { client.inbound.count == 3_000 }
        try await loop.sleep(for: .milliseconds(20))
        #expect(!probe.isClosed)
        probe.onReceived = nil
        probe.consumes = true
        client.resumeReading()
        try await eventually(loop) { probe.isClosed }
        #expect(probe.received.count == 3_000 && probe.received.last == pattern(3_000).last)
        #expect(probe.failure == .reset)
    }
}
