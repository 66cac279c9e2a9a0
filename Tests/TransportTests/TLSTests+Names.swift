// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Foundation
import Testing
import Transport

extension TLSTests {
    @Test(arguments: [
        ("one.example", "one"), ("x.wild.example", "wild"), ("a.b.wild.example", "one"), ("other", "one"),
    ])
    @Reactor func `the server name picks the certificate`(name: String, identity: String) async throws {
        let door = try server()
        defer { door.close() }
        let output = try await run(
            ["openssl", "s_client", "-connect", "\(door.socket.address)", "-servername", name],
            holdsInput: .milliseconds(500)
        )
        #expect(output.contains("subject=CN = \(identity)"), "\(output)")
    }

    @Test @Reactor func `an unknown server name is refused with its alert where there is no default`() async throws {
        let door = try server { $0.defaultIdentity = nil }
        defer { door.close() }
        let output = try await run(
            ["openssl", "s_client", "-connect", "\(door.socket.address)", "-servername", "other"],
            holdsInput: .milliseconds(500)
        )
        #expect(output.contains("unrecognized name"), "\(output)")
        let (_, probe) = try await door.first()
        try await eventually(loop) { probe.isClosed }
        #expect(probe.failure == .tls(TLSFailure(.unknownServerName)))
        let accepted = try await run(
            ["openssl", "s_client", "-connect", "\(door.socket.address)", "-servername", "one.example"],
            holdsInput: .milliseconds(500)
        )
        #expect(accepted.contains("subject=CN = one"))
    }

    @Test @Reactor func `no server name is refused where there is no default`() async throws {
        let door = try server { $0.defaultIdentity = nil }
        defer { door.close() }
        let output = try await run(
            ["openssl", "s_client", "-connect", "\(door.socket.address)", "-noservername"],
            holdsInput: .milliseconds(500)
        )
        #expect(output.contains("unrecognized name"), "\(output)")
    }

    @Test(arguments: [
        // what the handshake asked for, what the request asks for, without a default, with `one` as the default
        ("one.example", "one.example", true, true), ("one.example", "LOCALHOST", true, true),
        ("one.example", "other.example", false, true), ("one.example", "a.wild.example", false, false),
        ("a.wild.example", "b.wild.example", true, true), ("a.wild.example", "one.example", false, false),
        ("a.wild.example", "wild.example", false, false), ("a.wild.example", "a.b.wild.example", false, false),
        ("a.wild.example", "127.0.0.1", false, false), (nil, "other.example", false, true),
        (nil, "one.example", false, true),
        (nil, "a.wild.example", false, false), ("other.example", "third.example", false, true),
    ])
    @Reactor func `a connection may be asked for the names of its certificate, and for those that would get it`(
        _ serverName: String?,
        _ host: String,
        _ alone: Bool,
        _ withDefault: Bool
    ) throws {
        for (name, expected) in [(nil, alone), ("one", withDefault)] {
            let identities = [certificates.one, certificates.wild]
            let context = try TLSServerContext(TLSServerSettings(identities: identities, defaultIdentity: name))
            #expect(context.serves(host, onConnectionTo: serverName) == expected)
        }
    }

    @Test @Reactor func `a reload changes the certificate of new connections in place`() async throws {
        let door = try server()
        defer { door.close() }
        let (stream, probe) = try client(door)
        try await eventually(loop) { probe.session != nil }
        let context = try #require(door.tls)
        try context.reload(TLSServerSettings(identities: [certificates.wild], defaultIdentity: "wild"))
        let (_, refused) = try client(door)
        try await eventually(loop) { refused.isClosed }
        #expect(refused.failure == .tls(TLSFailure(.hostnameMismatch)))
        stream.write("still here")
        try await eventually(loop) { probe.text == "still here" }
        var broken = certificates.one
        broken.keyPEM = certificates.wild.keyPEM
        #expect(throws: TLSFailure(.keyMismatch)) {
            try context.reload(TLSServerSettings(identities: [broken], defaultIdentity: nil))
        }
        stream.close()
    }

    @Test(arguments: [
        ("localhost", TLSFailure.Reason?.none), ("127.0.0.1", nil), ("one.example", nil),
        ("two.example", .hostnameMismatch), ("127.0.0.2", .hostnameMismatch),
    ])
    @Reactor func `the server's name is checked`(name: String, reason: TLSFailure.Reason?) async throws {
        let door = try server()
        defer { door.close() }
        let (stream, probe) = try client(door, name: name)
        try await eventually(loop) { probe.session != nil || probe.isClosed }
        #expect(probe.failure == reason.map { .tls(TLSFailure($0)) })
        stream.close()
    }

    @Test @Reactor func `an expired certificate and an unknown root are told apart`() async throws {
        let expired = try server {
            $0.identities = [certificates.expired]; $0.defaultIdentity = "expired"
        }
        defer { expired.close() }
        let (_, late) = try client(expired)
        try await eventually(loop) { late.isClosed }
        #expect(late.failure == .tls(TLSFailure(.certificateExpired)))
        let door = try server()
        defer { door.close() }
        let system = try TLSClientContext(TLSClientSettings(trust: .system))
        let (_, stranger) = try client(door, system)
        try await eventually(loop) { stranger.isClosed }
        #expect(stranger.failure == .tls(TLSFailure(.untrustedRoot)))
    }

    @Test @Reactor func `a verifying client without a name to check fails`() async throws {
        let door = try server()
        defer { door.close() }
        let (_, probe) = try client(door, name: "")
        try await eventually(loop) { probe.isClosed }
        #expect(probe.failure == .tls(TLSFailure(.unusableSetting)))
    }
}
