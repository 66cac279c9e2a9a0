// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Glibc
import Testing
import Transport

extension ByteStreamTests {
    @Test @Reactor func `a quiet stream that is to be closed is closed, and its owner told`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        let (client, probe, stream, server) = try await door.pair()
        stream.closeIfQuiet()
        #expect(!server.isClosed)
        try await eventually(loop) { server.isClosed && probe.hasEnded }
        #expect(server.failure == nil && probe.failure == nil)
        client.close()
    }

    @Test @Reactor func `bytes that have come unheard keep a stream open that was to be closed`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        let (stream, server, peer) = try await rawPeer(door)
        defer { close(peer) }
        // In the kernel, and the loop has had no turn to hear of it.
        unsafe #expect(send(peer, "asked", 5, 0) == 5)
        stream.closeIfQuiet()
        try await eventually(loop) { server.text == "asked" }
        try await loop.sleep(for: .milliseconds(20))
        #expect(!server.isClosed && stream.isOpen)
        stream.closeIfQuiet()
        try await eventually(loop) { server.isClosed }
    }

    @Test @Reactor func `many streams that are to be closed are asked when their turns come`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        var peers: [CInt] = []
        defer { for peer in peers { close(peer) } }
        for _ in 0..<64 { peers.append(try await rawPeer(door).2) }
        for stream in door.streams { stream.closeIfQuiet() }
        for peer in peers.dropFirst(32) { unsafe #expect(send(peer, "asked", 5, 0) == 5) }
        try await eventually(loop) { door.probes.allSatisfy { $0.isClosed || $0.text == "asked" } }
        #expect(door.probes.dropFirst(32).allSatisfy { !$0.isClosed })
        #expect(door.probes.prefix(32).allSatisfy { $0.isClosed })
    }

    @Test @Reactor func `a stream that is closed while its turn to be closed is awaited is closed once`() async throws {
        let door = try Door(loop)
        defer { door.close() }
        let (stream, server, peer) = try await rawPeer(door)
        defer { close(peer) }
        stream.closeIfQuiet()
        stream.close()
        try await loop.sleep(for: .milliseconds(20))
        #expect(!server.isClosed && stream.isClosed)
        var byte: UInt8 = 0
        unsafe #expect(recv(peer, &byte, 1, 0) == 0)
    }

    /// A connected pair whose peer is a bare descriptor: what it sends is in the kernel when `send` returns.
    @Reactor private func rawPeer(_ door: Door) async throws -> (ByteStream, Probe, CInt) {
        let before = door.streams.count
        let peer = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        guard case .ip(_, let port) = door.socket.address else { throw SystemError(EAFNOSUPPORT) }
        address.sin_port = port.bigEndian
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(peer, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        #expect(result == 0)
        try await eventually(loop) { door.streams.count == before + 1 }
        return (door.streams[before], door.probes[before], peer)
    }
}
