// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings
import Testing

@testable import Credentials

@Suite struct SigningKeyRingTests {
    private let now = TokenForge.now
    private let day: Int64 = 86_400_000

    private func sealing(_ ids: [String] = ["s1"]) throws -> SealingRing {
        try SealingRing(ids.map { ($0, SecretBytes(SHA256.hash(Array($0.utf8)).span)) })
    }

    @Test func `a rotation publishes first, signs later, and keeps the old key for its tokens`() throws {
        let sealing = try sealing()
        let first = try SigningKeyRing.rotated([], algorithm: .es256, overlap: day, sealing: sealing, now: now)
        let second = try SigningKeyRing.rotated(
            first,
            algorithm: .es256,
            overlap: day,
            sealing: sealing,
            now: now + day
        )
        let ring = try SigningKeyRing(second, sealing: sealing)
        let issuer = TokenForge.gateway
        let rotation = now + day
        #expect(ring.signer(issuer: issuer, now: rotation)?.keyID == first[0].id)
        #expect(ring.signer(issuer: issuer, now: rotation + SigningKeyRing.publication)?.keyID == second[0].id)
        #expect(ring.verificationKeys(now: rotation).map(\.id) == [second[0].id, first[0].id])
        let end = rotation + SigningKeyRing.publication + day
        #expect(ring.verificationKeys(now: end - 1).count == 2)
        #expect(ring.verificationKeys(now: end).map(\.id) == [second[0].id])
        let third = try SigningKeyRing.rotated(second, algorithm: .es256, overlap: day, sealing: sealing, now: end)
        #expect(third.count == 2)
    }

    @Test func `with EdDSA an ES256 key is made beside it, for what upstreams verify`() throws {
        let sealing = try sealing()
        let records = try SigningKeyRing.rotated([], algorithm: .edDSA, overlap: day, sealing: sealing, now: now)
        let ring = try SigningKeyRing(records, sealing: sealing)
        let issuer = TokenForge.gateway
        #expect(records.map(\.algorithm) == [.edDSA, .es256])
        #expect(ring.signer(issuer: issuer, now: now)?.algorithm == .edDSA)
        #expect(ring.signer(issuer: issuer, algorithm: .es256, now: now)?.keyID == records[1].id)
        #expect(ring.verificationKeys(now: now).count == 2)
    }

    @Test func `a ring says when its keys change next`() throws {
        let sealing = try sealing()
        let first = try SigningKeyRing.rotated([], algorithm: .es256, overlap: day, sealing: sealing, now: now)
        #expect(try SigningKeyRing(first, sealing: sealing).nextChange(after: now) == nil)
        let second = try SigningKeyRing.rotated(first, algorithm: .es256, overlap: day, sealing: sealing, now: now + 1)
        let ring = try SigningKeyRing(second, sealing: sealing)
        let begins = now + 1 + SigningKeyRing.publication
        #expect(ring.nextChange(after: now + 1) == begins)
        #expect(ring.nextChange(after: begins) == begins + day)
        #expect(ring.nextChange(after: begins + day) == nil)
    }

    @Test func `a key that this node cannot open makes it not ready`() throws {
        let records = try SigningKeyRing.rotated(
            [],
            algorithm: .es256,
            overlap: day,
            sealing: sealing(["s2"]),
            now: now
        )
        #expect(throws: SigningKeyProblem.sealing(.unknownKey(id: "s2"))) {
            try SigningKeyRing(records, sealing: sealing(["s1"]))
        }
        #expect(throws: Never.self) { try SigningKeyRing(records, sealing: sealing(["s1", "s2"])) }
    }

    @Test func `a sealed key cannot be put in another's place`() throws {
        let sealing = try sealing()
        let one = try SigningKeyRing.rotated([], algorithm: .es256, overlap: day, sealing: sealing, now: now)
        let two = try SigningKeyRing.rotated([], algorithm: .es256, overlap: day, sealing: sealing, now: now)
        var mixed = one
        mixed[0].sealed = two[0].sealed
        #expect(throws: SigningKeyProblem.sealing(.doesNotOpen)) { try SigningKeyRing(mixed, sealing: sealing) }
    }

    @Test func `what is published is what others verify with`() throws {
        let sealing = try sealing()
        let records = try SigningKeyRing.rotated([], algorithm: .es256, overlap: day, sealing: sealing, now: now)
        let ring = try SigningKeyRing(records, sealing: sealing)
        let published = JSONWebKeySet.publish(ring.verificationKeys(now: now))
        let read = try JSONWebKeySet.parse(published, algorithms: [.es256])
        #expect(read.keys.map(\.id) == [records[0].id])
        let text = String(decoding: published, as: UTF8.self)
        #expect(!text.contains("\"d\""))
        #expect(text.hasPrefix(#"{"keys":[{"crv":"P-256","kty":"EC","x":""#))
    }

    @Test func `a sealed text opens for its purpose only`() throws {
        let ring = try sealing(["s2", "s1"])
        let sealed = try ring.seal(Array("text".utf8), purpose: "a")
        #expect(sealed.key == "s2")
        #expect(try ring.open(sealed, purpose: "a") == Array("text".utf8))
        #expect(throws: SealingProblem.doesNotOpen) { try ring.open(sealed, purpose: "b") }
        #expect(throws: SealingProblem.unknownKey(id: "s2")) { try sealing(["s1"]).open(sealed, purpose: "a") }
        #expect(throws: SealingProblem.noKey) { try SealingRing([]) }
        #expect(throws: SealingProblem.wrongLength(id: "x")) { try SealingRing([("x", SecretBytes([1].span))]) }
    }
}
