// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Testing
import Transport

/// A stream's owner that records what it hears and lets a test wait for it.
@Reactor
final class Probe: StreamOwner {
    var received: [UInt8] = []
    var receivedCount = 0
    /// Whether received bytes are kept; a bulk test only counts them.
    var keepsBytes = true
    var consumes = true
    var isConnected = false
    var session: TLSSessionFacts?
    var drainedCount = 0
    var hasEnded = false
    var isClosed = false
    var failure: StreamFailure?
    var onReceived: ((ByteStream) -> Void)?
    var onDrained: ((ByteStream) -> Void)?
    var onEnded: ((ByteStream) -> Void)?

    func streamConnected(_ stream: ByteStream) { isConnected = true }

    func streamSecured(_ stream: ByteStream, _ session: TLSSessionFacts) { self.session = session }

    func streamReceived(_ stream: ByteStream) {
        if consumes {
            let count = stream.inbound.count
            receivedCount += count
            if keepsBytes { append(stream.inbound.bytes) }
            stream.consume(count)
        }
        onReceived?(stream)
    }

    func streamDrained(_ stream: ByteStream) {
        drainedCount += 1
        onDrained?(stream)
    }

    func streamEnded(_ stream: ByteStream) {
        hasEnded = true
        onEnded?(stream)
    }

    func streamClosed(_ stream: ByteStream, _ failure: StreamFailure?) {
        isClosed = true
        self.failure = failure
    }

    private func append(_ bytes: Span<UInt8>) {
        for index in bytes.indices { received.append(bytes[index]) }
    }

    var text: String { String(decoding: received, as: UTF8.self) }
}

/// Accepts connections and makes a stream with a probe of each.
@Reactor
final class Door: ConnectionTaker {
    let loop: EventLoop
    let socket: ListeningSocket
    var tls: TLSServerContext?
    var limits = StreamLimits()
    var streams: [ByteStream] = []
    var probes: [Probe] = []
    var prepare: ((ByteStream, Probe) -> Void)?

    init(_ loop: EventLoop, at address: String = "127.0.0.1:0", tls: TLSServerContext? = nil) throws {
        self.loop = loop
        self.tls = tls
        let address = try #require(SocketAddress(parsing: address))
        socket = try ListeningSocket(loop: loop, address: address)
        try socket.start(taker: self)
    }

    func connectionAccepted(_ connection: AcceptedConnection, on socket: ListeningSocket) {
        let stream = ByteStream(loop: loop, accepted: connection, tls: tls, limits: limits)
        let probe = Probe()
        prepare?(stream, probe)
        streams.append(stream)
        probes.append(probe)
        stream.start(owner: probe)
    }

    /// Waits until the first connection was accepted.
    func first() async throws -> (ByteStream, Probe) {
        try await eventually(loop) { !self.streams.isEmpty }
        return (streams[0], probes[0])
    }

    /// The first client, connected by us, and the stream and the probe of its other end.
    func pair() async throws -> (client: ByteStream, probe: Probe, stream: ByteStream, server: Probe) {
        let client = ByteStream(loop: loop, connectingTo: socket.address)
        let probe = Probe()
        client.start(owner: probe)
        let (stream, server) = try await first()
        return (client, probe, stream, server)
    }

    func close() {
        socket.stop()
        for stream in streams { stream.close() }
    }
}

/// Waits until `condition` holds; fails the test after `deadline`.
@Reactor
func eventually(
    _ loop: EventLoop,
    within deadline: Duration = .seconds(5),
    _ condition: () -> Bool,
    location: SourceLocation = #_sourceLocation
) async throws {
    let end = MonotonicInstant.readClock().advanced(by: deadline)
    while !condition() {
        try #require(MonotonicInstant.readClock() < end, "deadline passed", sourceLocation: location)
        try await loop.sleep(for: .milliseconds(5))
    }
}

/// `count` bytes of a pattern whose every position can be checked.
func pattern(_ count: Int, from start: Int = 0) -> [UInt8] {
    (start..<start + count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
}
