// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Glibc
import Testing
import Transport

@Suite struct ByteStreamTests {
    let loop = LoopThread.loop

    @Test @Reactor func `bytes come back from an echo`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        door.prepare = { _, probe in
            probe.consumes = false
            probe.onReceived = { stream in
                stream.write(stream.inbound.bytes)
                stream.consume(stream.inbound.count)
            }
        }
        let client = ByteStream(loop: loop, connectingTo: door.socket.address)
        let probe = Probe()
        client.start(owner: probe)
        client.write("hello")
        try await eventually(loop) { probe.text == "hello" }
        #expect(probe.isConnected)
        client.write(" again")
        try await eventually(loop) { probe.text == "hello again" }
        client.close()
        let (_, server) = try await door.first()
        try await eventually(loop) { server.hasEnded || server.isClosed }
        #expect(!probe.isClosed)
    }

    @Test @Reactor func `a refused connection is reported as such`() async throws {
        let door = try Door(loop)
        let address = door.socket.address
        door.close()
        let client = ByteStream(loop: loop, connectingTo: address)
        let probe = Probe()
        client.start(owner: probe)
        #expect(!probe.isClosed)
        try await eventually(loop) { probe.isClosed }
        #expect(probe.failure == .refused)
        #expect(client.isClosed)
    }

    @Test @Reactor func `a half-closed peer still gets its answer`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        door.prepare = { _, probe in
            probe.onEnded = { stream in
                stream.write("answer")
                stream.closeAfterFlush()
            }
        }
        let client = ByteStream(loop: loop, connectingTo: door.socket.address)
        let probe = Probe()
        probe.onEnded = { $0.close() }
        client.start(owner: probe)
        client.write("question")
        client.closeWrite()
        try await eventually(loop) { probe.hasEnded }
        #expect(probe.text == "answer")
        let (_, server) = try await door.first()
        #expect(server.text == "question")
        try await eventually(loop) { server.isClosed }
        #expect(server.failure == nil)
    }

    @Test @Reactor func `an early answer is not lost to unread input`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        door.prepare = { _, probe in
            probe.consumes = false
            probe.onReceived = { stream in
                stream.write("413")
                stream.closeAfterFlush()
            }
        }
        let client = ByteStream(loop: loop, connectingTo: door.socket.address)
        let probe = Probe()
        client.start(owner: probe)
        for _ in 0..<10 { client.write(pattern(10_000).span) }
        try await eventually(loop) { probe.hasEnded || probe.isClosed }
        #expect(probe.text == "413")
        client.close()
    }

    @Test @Reactor func `an answer is read even where our own write fails first`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        door.prepare = { _, probe in probe.consumes = false }
        let client = ByteStream(loop: loop, connectingTo: door.socket.address)
        let probe = Probe()
        client.start(owner: probe)
        client.write("request")
        let (stream, _) = try await door.first()
        try await eventually(loop) { stream.inbound.count == 7 }
        // The answer, the reset and our next write fall into one turn of the loop: the write fails before any event.
        stream.write("413")
        stream.flushNow()
        client.write("more")
        client.flushNow()
        usleep(1000)
        stream.close()
        usleep(1000)
        client.write("and more")
        client.flushNow()
        try await eventually(loop) { probe.isClosed }
        #expect(probe.text == "413")
        #expect(probe.failure == .reset)
    }

    @Test(arguments: [false, true]) @Reactor
    func `a hundred megabytes pass a slow reader`(pauses: Bool) async throws {
        let total = 100_000_000
        let cycle = (0..<66_000).map { UInt8(truncatingIfNeeded: $0) }
        let door = try Door(loop)
        defer { door.close() }
        var mismatch = false
        door.prepare = { [loop] _, probe in
            probe.consumes = false
            var position = 0
            var turns = 0
            probe.onReceived = { stream in
                if !counts(stream.inbound.bytes, from: position) { mismatch = true }
                position += stream.inbound.count
                probe.receivedCount = position
                stream.consume(stream.inbound.count)
                turns += 1
                if pauses, turns % 64 == 0 {
                    stream.pauseReading()
                    Task { @Reactor in
                        try await loop.sleep(for: .milliseconds(1))
                        stream.resumeReading()
                    }
                }
            }
        }
        let client = ByteStream(loop: loop, connectingTo: door.socket.address)
        let probe = Probe()
        var sent = 0
        var highest = 0
        let fill: (ByteStream) -> Void = { stream in
            while sent < total, !stream.isCongested {
                let count = min(65_536, total - sent)
                let start = sent
                stream.outbound.append(contentsOf: Array(cycle[start % 256..<start % 256 + count]))
                sent += count
                stream.outboundAppended()
                highest = max(highest, stream.outboundCount)
            }
            if sent == total { stream.closeWrite() }
        }
        probe.onDrained = fill
        client.start(owner: probe)
        try await eventually(loop) { probe.isConnected }
        fill(client)
        let (_, server) = try await door.first()
        try await eventually(loop, within: .seconds(60)) { server.hasEnded }
        #expect(server.receivedCount == total)
        #expect(!mismatch)
        #expect(highest <= 512 << 10)
        client.close()
    }

    @Test @Reactor func `a unix socket carries bytes`() async throws {
        let path = "/tmp/sallyport-test-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
        let door = try Door(loop, at: "unix:\(path)")
        defer {
            door.close()
            unsafe unlink(path)
        }
        let client = ByteStream(loop: loop, connectingTo: .unix(path: path))
        client.start(owner: Probe())
        client.write("over unix")
        let (_, server) = try await door.first()
        try await eventually(loop) { server.text == "over unix" }
        client.close()
    }

    @Test @Reactor func `an unanswered connect ends at its deadline`() async throws {
        let limits = StreamLimits()
        limits.connectDeadline = .milliseconds(100)
        // A listener whose backlog is full leaves further connects without an answer.
        let descriptor = try ListeningDescriptor.open(.ip(IPAddress(v4: 0x7f00_0001), port: 0), backlog: 0)
        defer { close(descriptor) }
        let address = try ListeningDescriptor.address(of: descriptor)
        var fillers: [ByteStream] = []
        for _ in 0..<4 {
            let filler = ByteStream(loop: loop, connectingTo: address)
            filler.start(owner: Probe())
            fillers.append(filler)
        }
        try await loop.sleep(for: .milliseconds(20))
        let client = ByteStream(loop: loop, connectingTo: address, limits: limits)
        let probe = Probe()
        client.start(owner: probe)
        try await eventually(loop) { probe.isClosed }
        #expect(probe.failure == .connectDeadlinePassed)
        for filler in fillers { filler.close() }
    }

    @Test @Reactor func `nothing is reported after close`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        let (client, probe, stream, _) = try await door.pair()
        stream.write("too late")
        client.close()
        client.close()
        try await loop.sleep(for: .milliseconds(30))
        #expect(probe.received.isEmpty)
        #expect(!probe.isClosed)
        #expect(client.owner == nil)
    }
}

/// Whether `bytes` count up from `position`, looking at every 997th.
private func counts(_ bytes: Span<UInt8>, from position: Int) -> Bool {
    for offset in stride(from: 0, to: bytes.count, by: 997)
    where bytes[offset] != UInt8(truncatingIfNeeded: position &+ offset) {
        return false
    }
    return true
}
