// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Crypto
import Foundation
import Testing
import Transport

@Suite struct TLSTests {
    let loop = LoopThread.loop
    let certificates = TestCertificates.shared

    @Reactor func server(_ change: (inout TLSServerSettings) -> Void = { _ in }, keys: TicketKeys? = nil) throws -> Door
    {
        var settings = TLSServerSettings(identities: [certificates.one, certificates.wild], defaultIdentity: "one")
        change(&settings)
        let context = try TLSServerContext(settings, ticketKeys: keys)
        let door = try Door(loop, tls: context)
        door.prepare = { _, probe in
            probe.consumes = false
            probe.onReceived = { stream in
                stream.write(stream.inbound.bytes)
                stream.consume(stream.inbound.count)
            }
        }
        return door
    }

    @Reactor func client(
        _ door: Door,
        _ context: TLSClientContext? = nil,
        name: String = "localhost"
    ) throws -> (ByteStream, Probe) {
        let used: TLSClientContext
        if let context {
            used = context
        } else {
            used = try TLSClientContext(TLSClientSettings(trust: .authorities(pem: certificates.authority)))
        }
        let stream = ByteStream(
            loop: loop,
            connectingTo: door.socket.address,
            tls: used,
            serverName: name
        )
        let probe = Probe()
        stream.start(owner: probe)
        return (stream, probe)
    }

    func keys(_ seed: UInt8) throws -> TicketKeys.Key {
        var bytes = (0..<80).map { UInt8($0) ^ seed }
        return try #require(TicketKeys.Key(bytes: SecretBytes(wiping: &bytes)))
    }

    @Test @Reactor func `bytes pass both ways, and both ends know what was agreed`() async throws {
        let door = try server()
        defer { door.close() }
        let (stream, probe) = try client(door)
        stream.write("secret")
        try await eventually(loop) { probe.text == "secret" || probe.isClosed }
        #expect(probe.failure == nil)
        #expect(probe.session?.version == .v1_3)
        #expect(probe.session?.isResumed == false)
        let (_, other) = try await door.first()
        #expect(other.session?.serverName == "localhost")
        stream.close()
        try await eventually(loop) { other.hasEnded }
    }

    @Test @Reactor func `a hundred megabytes pass with back-pressure`() async throws {
        let total = 100_000_000
        let cycle = counting(41_000, from: 0)
        let door = try server()
        defer { door.close() }
        var received = 0
        var isIntact = true
        door.prepare = { _, probe in
            probe.consumes = false
            probe.onReceived = { stream in
                if !continues(stream.inbound.bytes, from: received) { isIntact = false }
                received += stream.inbound.count
                stream.consume(stream.inbound.count)
            }
        }
        let (stream, probe) = try client(door)
        var sent = 0
        var highest = 0
        let fill: (ByteStream) -> Void = { stream in
            while sent < total, !stream.isCongested {
                let count = min(40_000, total - sent)
                stream.outbound.append(contentsOf: Array(cycle[sent % 251..<sent % 251 + count]))
                stream.outboundAppended()
                sent += count
                highest = max(highest, stream.outboundCount)
            }
            if sent == total { stream.closeWrite() }
        }
        probe.onDrained = fill
        try await eventually(loop) { probe.session != nil }
        fill(stream)
        let (_, other) = try await door.first()
        try await eventually(loop, within: .seconds(120)) { other.hasEnded || other.isClosed }
        #expect(received == total)
        #expect(isIntact)
        #expect(highest < 512 << 10)
        stream.close()
    }

    /// A connected client whose peer reads nothing, with something written that the socket does not take.
    @Reactor func stuffed(_ door: Door, _ limits: StreamLimits) async throws -> (ByteStream, Probe, peer: ByteStream) {
        door.prepare = { stream, _ in stream.pauseReading() }
        let stream = ByteStream(
            loop: loop,
            connectingTo: door.socket.address,
            tls: try TLSClientContext(TLSClientSettings(trust: .authorities(pem: certificates.authority))),
            serverName: "localhost",
            limits: limits
        )
        let probe = Probe()
        stream.start(owner: probe)
        try await eventually(loop) { probe.session != nil }
        let piece = [UInt8](repeating: 7, count: 10_000)
        while stream.outboundCount == 0 {
            stream.write(piece.span)
            try await loop.sleep(for: .milliseconds(1))
        }
        return (stream, probe, try await door.first().0)
    }

    @Test @Reactor func `who finds the stream congested by ciphertext hears when it has left`() async throws {
        let door = try server()
        defer { door.close() }
        let limits = StreamLimits()
        limits.outboundHighWater = 48 << 10
        limits.outboundLowWater = 48 << 10
        let (stream, probe, peer) = try await stuffed(door, limits)
        let piece = [UInt8](repeating: 7, count: 10_000)
        while !stream.isCongested { stream.write(piece.span) }
        let before = probe.drainedCount
        peer.resumeReading()
        try await eventually(loop) { probe.drainedCount == before + 1 }
        stream.close()
    }

    @Test @Reactor func `who finds the stream congested because memory became short hears when it has left`()
        async throws
    {
        let door = try server()
        defer { door.close() }
        let (stream, probe, peer) = try await stuffed(door, StreamLimits())
        let piece = [UInt8](repeating: 7, count: 10_000)
        while stream.outboundCount <= 64 << 10 { stream.write(piece.span) }
        #expect(!stream.isCongested)
        loop.isMemoryShort = true
        #expect(stream.isCongested)
        loop.isMemoryShort = false
        let before = probe.drainedCount
        peer.resumeReading()
        try await eventually(loop) { probe.drainedCount == before + 1 }
        stream.close()
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"]) @Reactor
    func `curl speaks to it`(version: String) async throws {
        let door = try server()
        defer { door.close() }
        door.prepare = { _, probe in
            probe.onReceived = { stream in
                stream.write("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")
            }
        }
        let port = try #require(door.socket.address.port)
        let output = try await run([
            "curl", "-sS", "--max-time", "5", "--cacert", certificates.path("ca.pem"),
            version == "-tls1_2" ? "--tls-max" : "--tlsv1.3", version == "-tls1_2" ? "1.2" : "--http1.1",
            "https://localhost:\(port)/",
        ])
        #expect(output == "hello")
        let (_, probe) = try await door.first()
        #expect(probe.session?.version == (version == "-tls1_2" ? .v1_2 : .v1_3))
        #expect(probe.session?.applicationProtocol == "http/1.1")
    }

    @Test(arguments: ["-tls1_1", "-cipher AES128-SHA -tls1_2", "-cipher ECDHE-ECDSA-AES128-SHA -tls1_2"]) @Reactor
    func `old versions and weak suites are refused`(options: String) async throws {
        let door = try server()
        defer { door.close() }
        let output = try await run(
            ["openssl", "s_client", "-connect", "\(door.socket.address)"]
                + options.split(separator: " ").map(String.init),
            holdsInput: .milliseconds(500)
        )
        #expect(output.contains("alert") || output.contains("no protocols"), "\(output)")
        #expect(door.probes.allSatisfy { $0.session == nil })
    }

    @Test @Reactor func `a protocol we do not speak ends the handshake`() async throws {
        let door = try server()
        defer { door.close() }
        let output = try await run(
            ["openssl", "s_client", "-connect", "\(door.socket.address)", "-alpn", "h9"],
            holdsInput: .milliseconds(500)
        )
        #expect(output.contains("no application protocol"), "\(output)")
        let (_, probe) = try await door.first()
        try await eventually(loop) { probe.isClosed }
        #expect(probe.failure == .tls(TLSFailure(.noCommonProtocol)))
    }

    @Test(arguments: ["GET / HTTP/1.1\r\n\r\n", "\u{16}\u{3}\u{1}\u{0}\u{5}garbage", "garbage that is no hello at all"])
    @Reactor func `what is no hello is refused`(bytes: String) async throws {
        let door = try server()
        defer { door.close() }
        let stream = ByteStream(loop: loop, connectingTo: door.socket.address)
        stream.start(owner: Probe())
        stream.write(Array(bytes.utf8).span)
        let (_, probe) = try await door.first()
        try await eventually(loop) { probe.isClosed }
        guard case .tls? = probe.failure else {
            Issue.record("\(String(describing: probe.failure))")
            return
        }
        stream.close()
    }

    @Test @Reactor func `a slow handshake is cut`() async throws {
        let door = try server()
        defer { door.close() }
        door.limits.handshakeDeadline = .milliseconds(100)
        let stream = ByteStream(loop: loop, connectingTo: door.socket.address)
        let silent = Probe()
        stream.start(owner: silent)
        let (_, probe) = try await door.first()
        try await eventually(loop) { probe.isClosed }
        #expect(probe.failure == .handshakeDeadlinePassed)
        try await eventually(loop) { silent.hasEnded || silent.isClosed }
        stream.close()
    }

    @Test @Reactor func `a client's end without close_notify is an end`() async throws {
        let door = try server()
        defer { door.close() }
        // s_client killed by timeout closes its socket without a word.
        _ = try await run(
            ["timeout", "-s", "KILL", "2", "openssl", "s_client", "-quiet", "-connect", "\(door.socket.address)"],
            holdsInput: .milliseconds(2200)
        )
        let (_, probe) = try await door.first()
        try await eventually(loop) { probe.hasEnded }
        #expect(probe.failure == nil)
    }

    @Test @Reactor func `bad files are named`() throws {
        var broken = certificates.one
        broken.chainPEM = Array("nothing".utf8)
        #expect(throws: TLSFailure(.badCertificateFile)) {
            _ = try TLSServerContext(TLSServerSettings(identities: [broken], defaultIdentity: nil))
        }
        broken = certificates.one
        var none: [UInt8] = []
        broken.keyPEM = SecretBytes(wiping: &none)
        #expect(throws: TLSFailure(.badKeyFile)) {
            _ = try TLSServerContext(TLSServerSettings(identities: [broken], defaultIdentity: nil))
        }
        #expect(throws: TLSFailure(.unusableSetting)) {
            _ = try TLSServerContext(TLSServerSettings(identities: [certificates.one], defaultIdentity: "two"))
        }
        #expect(throws: TLSFailure(.badTrustFile)) {
            _ = try TLSClientContext(TLSClientSettings(trust: .authorities(pem: [])))
        }
    }
}

/// `count` bytes of the pattern of the big transfer.
private func counting(_ count: Int, from position: Int) -> [UInt8] {
    (position..<position + count).map { UInt8(truncatingIfNeeded: $0 % 251) }
}

/// Whether `bytes` go on with the pattern of the big transfer, looking at every 997th.
private func continues(_ bytes: Span<UInt8>, from position: Int) -> Bool {
    for offset in stride(from: 0, to: bytes.count, by: 997)
    where bytes[offset] != UInt8(truncatingIfNeeded: (position + offset) % 251) {
        return false
    }
    return true
}
