// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Testing
import Transport

@Suite struct ProxyPrefaceTests {
    let loop = LoopThread.loop

    /// Accepts with a preface, and serves with a stream what comes through.
    @Reactor
    final class Gate: ConnectionTaker {
        let loop: EventLoop
        let socket: ListeningSocket
        let isRequired: Bool
        var deadline = Duration.seconds(5)
        var failures: [ProxyFailure] = []
        var streams: [ByteStream] = []
        let probe = Probe()

        init(_ loop: EventLoop, isRequired: Bool = true) throws {
            self.loop = loop
            self.isRequired = isRequired
            socket = try ListeningSocket(loop: loop, address: try #require(SocketAddress(parsing: "127.0.0.1:0")))
            try socket.start(taker: self)
        }

        func connectionAccepted(_ connection: AcceptedConnection, on socket: ListeningSocket) {
            let preface = ProxyPreface(loop: loop, accepted: connection, isRequired: isRequired) { [self] outcome in
                switch outcome {
                case .success(let connection):
                    let stream = ByteStream(loop: loop, accepted: connection)
                    streams.append(stream)
                    stream.start(owner: probe)
                case .failure(let failure): failures.append(failure)
                }
            }
            preface.start(deadline: deadline)
        }

        func close() {
            socket.stop()
            for stream in streams { stream.close() }
        }
    }

    @Reactor
    private func connect(_ gate: Gate) -> (ByteStream, Probe) {
        let client = ByteStream(loop: loop, connectingTo: gate.socket.address)
        let probe = Probe()
        client.start(owner: probe)
        return (client, probe)
    }

    @Test @Reactor func `the address comes from the header and what follows is untouched`() async throws {
        let gate = try Gate(loop)
        defer { gate.close() }
        let (client, _) = connect(gate)
        client.write("PROXY TCP4 192.0.2.7 203.0.113.1 54321 443\r\nhello")
        try await eventually(loop) { gate.probe.text == "hello" }
        #expect(gate.streams[0].peer == .ip(IPAddress(v4: 0xc000_0207), port: 54321))
        client.write(" again")
        try await eventually(loop) { gate.probe.text == "hello again" }
        client.close()
    }

    @Test @Reactor func `a header may come byte by byte`() async throws {
        let gate = try Gate(loop)
        defer { gate.close() }
        let (client, _) = connect(gate)
        for byte in ProxyHeaderTests.binary(0x21, 0x11, ProxyHeaderTests.v4) {
            client.write([byte].span)
            client.flushNow()
            try await loop.sleep(for: .milliseconds(1))
        }
        client.write("x")
        try await eventually(loop) { gate.probe.text == "x" }
        #expect(gate.streams[0].peer.ipAddress == IPAddress(v4: 0xc000_0207))
        client.close()
    }

    @Test @Reactor func `LOCAL keeps the balancer's own address`() async throws {
        let gate = try Gate(loop)
        defer { gate.close() }
        let (client, _) = connect(gate)
        client.write((ProxyHeaderTests.binary(0x20, 0, []) + [0x78]).span)
        try await eventually(loop) { gate.probe.text == "x" }
        #expect(gate.streams[0].peer.ipAddress == IPAddress(v4: 0x7f00_0001))
        client.close()
    }

    @Test(arguments: [("GET / HTTP/1.1\r\n", ProxyFailure.missing), ("PROXY TCP4 x\r\n", .malformed)])
    @Reactor func `a connection without a good header is closed`(text: String, failure: ProxyFailure) async throws {
        let gate = try Gate(loop)
        defer { gate.close() }
        let (client, probe) = connect(gate)
        client.write(Array(text.utf8).span)
        try await eventually(loop) { probe.isClosed || probe.hasEnded }
        #expect(gate.failures == [failure])
        #expect(gate.streams.isEmpty)
        client.close()
    }

    @Test @Reactor func `without a need for it a connection may begin at once`() async throws {
        let gate = try Gate(loop, isRequired: false)
        defer { gate.close() }
        let (client, _) = connect(gate)
        client.write("GET /")
        try await eventually(loop) { gate.probe.text == "GET /" }
        #expect(gate.streams[0].peer.ipAddress == IPAddress(v4: 0x7f00_0001))
        client.close()
    }

    @Test @Reactor func `a header that does not come is not waited for`() async throws {
        let gate = try Gate(loop)
        defer { gate.close() }
        gate.deadline = .milliseconds(100)
        let (client, probe) = connect(gate)
        client.write("PROXY TCP4")
        try await eventually(loop) { probe.isClosed || probe.hasEnded }
        #expect(gate.failures == [.tooSlow])
        client.close()
    }

    @Test @Reactor func `a peer that leaves early is forgotten`() async throws {
        let gate = try Gate(loop)
        defer { gate.close() }
        let (client, probe) = connect(gate)
        try await eventually(loop) { probe.isConnected }
        client.write("PROXY TC")
        client.closeAfterFlush()
        try await eventually(loop) { gate.failures == [.closedEarly] }
        client.close()
    }
}
