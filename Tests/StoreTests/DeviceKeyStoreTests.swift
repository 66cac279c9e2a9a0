// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Testing
import Transport

@testable import Store

@Suite(.onLoop) struct DeviceKeyStoreTests {
    private let app = RecordID(rawValue: "000000000000000000000001")
    private let other = RecordID(rawValue: "000000000000000000000002")
    private let now = Moment(seconds: 1_790_000_000)

    /// A key that a lab attested, as the verifier gives it out.
    private func attested(_ provenance: Provenance = .vendor) throws -> AttestedAppleKey {
        let lab = try LabAuthorities.make(at: now)
        let pair = AppleApp(teamID: "ABCDE12345", bundleID: "com.example.app")
        let hash = [UInt8](repeating: 7, count: 32)
        let proof = try LabAppleProofs(lab, app: pair)
            .attestation(clientDataHash: hash, environment: .production, at: now, fault: nil)
        let root = try lab.anchors().apple[0].certificate
        let verifier = AppAttestationVerifier(
            anchors: [try TrustAnchor(certificate: root, provenance: provenance)],
            apps: [pair],
            environments: [.production]
        )
        let verdict = verifier.verdict(on: proof.object, keyID: proof.keyID, clientDataHash: hash, at: now)
        guard case .accepted(let key) = verdict else { throw Unexpected() }
        return key
    }

    private struct Unexpected: Error {}

    @Test @Reactor func `a key is its app's and its dialect's alone`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = DeviceKeyStore(connection: connection)
        let key = try attested()
        #expect(try await store.register(key, of: app, in: .vouch, at: now))
        let kept = try #require(try await store.key(key.keyID, of: app, in: .vouch))
        #expect(kept.point == key.point && kept.counter == 0 && kept.app == key.app && kept.provenance == .vendor)
        #expect(try await store.key(key.keyID, of: other, in: .vouch) == nil)
        #expect(try await store.key(key.keyID, of: app, in: .offlineid) == nil)
        #expect(try await store.advance(key.keyID, of: other, in: .vouch, to: 1, at: now) == .unknown)
        connection.close()
    }

    @Test @Reactor func `of fifty assertions with one counter one is taken, and none with a lower one`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = DeviceKeyStore(connection: connection)
        let key = try attested()
        _ = try await store.register(key, of: app, in: .vouch, at: now)
        for counter in [UInt32(6), 7, .max] {
            let tries = (0..<50).map { _ in
                Task { @Reactor in
                    try await store.advance(key.keyID, of: app, in: .vouch, to: counter, at: now)
                }
            }
            var taken = 0
            for one in tries where try await one.value == .taken { taken += 1 }
            #expect(taken == 1)
        }
        #expect(try await store.advance(key.keyID, of: app, in: .vouch, to: 5, at: now) == .notIncreasing)
        connection.close()
    }

    @Test @Reactor func `attesting a known key again neither sets its counter back nor unblocks it`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = DeviceKeyStore(connection: connection)
        let key = try attested()
        _ = try await store.register(key, of: app, in: .appengine, at: now)
        _ = try await store.advance(key.keyID, of: app, in: .appengine, to: 9, at: now)
        #expect(try await store.register(key, of: app, in: .appengine, at: now))
        #expect(try await store.key(key.keyID, of: app, in: .appengine)?.counter == 9)
        #expect(try await store.setBlocked(true, key.keyID, of: app, in: .appengine) == true)
        #expect(try await store.setBlocked(true, key.keyID, of: app, in: .appengine) == false)
        #expect(try await store.setBlocked(true, [1], of: app, in: .appengine) == nil)
        #expect(try await !store.register(key, of: app, in: .appengine, at: now))
        #expect(try await store.advance(key.keyID, of: app, in: .appengine, to: 10, at: now) == .blocked)
        #expect(try await store.newest(10, of: app, in: .appengine).map(\.key.isBlocked) == [true])
        _ = try await store.setBlocked(false, key.keyID, of: app, in: .appengine)
        #expect(try await store.advance(key.keyID, of: app, in: .appengine, to: 10, at: now) == .taken)
        connection.close()
    }

    @Test @Reactor func `a lab's word never replaces a vendor's`() async throws {
        let server = try await RedisServer.launched()
        let connection = try await server.connected()
        let store = DeviceKeyStore(connection: connection)
        let lab = try attested(.lab)
        _ = try await store.register(lab, of: app, in: .vouch, at: now)
        #expect(try await store.key(lab.keyID, of: app, in: .vouch)?.provenance == .lab)
        let vendor = try attested()
        _ = try await store.register(vendor, of: other, in: .vouch, at: now)
        _ = try await connection.call([
            "HSET", .text("{\(app.rawValue)}:k:vouch:\(hex(lab.keyID))"), "provenance", "vendor",
        ])
        _ = try await store.register(lab, of: app, in: .vouch, at: now)
        #expect(try await store.key(lab.keyID, of: app, in: .vouch)?.provenance == .vendor)
        connection.close()
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
