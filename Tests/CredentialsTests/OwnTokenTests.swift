// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings
import Testing

@testable import Credentials

@Suite struct OwnTokenTests {
    private typealias F = TokenForge
    private let forge: TokenForge

    init() throws {
        forge = try TokenForge.shared.get()
    }

    private func own(_ kind: CredentialKind = .sessionToken) -> OwnToken {
        OwnToken(
            kind: kind,
            tokenID: "t1",
            organization: Fixture.organization,
            app: RecordID(rawValue: "65f0c0ffee65f0c0ffee65f0"),
            appID: Fixture.appID,
            dialect: .offlineid,
            authentication: .attestation,
            trust: .degraded,
            person: "17",
            attest: AttestClaim(platform: "ios", method: "app-assert", keyID: "k"),
            issuedAt: F.now - 10_000,
            expiresAt: F.now + 300_000
        )
    }

    @Test(arguments: CredentialKind.allCases)
    func `what is signed is read back, and only where its kind is taken`(kind: CredentialKind) throws {
        let signer = try forge.signer()
        let text = try signer.sign(own(kind))
        let key = try #require(signer.verificationKey)
        let verifier = OwnTokenVerifier(issuer: F.gateway, keys: VerificationKeySet([key]))
        let token = try JOSEToken(parsing: text.utf8.span)
        #expect(verifier.claims(token))
        #expect(try verifier.verify(token, kinds: CredentialKinds([kind]), now: F.now) == own(kind))
        let others = CredentialKind.allCases.filter { $0 != kind }
        #expect(try forge.judgeOwn(text, kinds: others) == .wrongKind)
        #expect(forge.judge(text) == .wrongType)
    }

    @Test(arguments: [nil, "17"])
    func `dialect C has its own claims, and the app's record is nobody`(person: String?) throws {
        var made = own(.appToken)
        made.dialect = .appengine
        made.username = "acme-mobile"
        made.person = person
        let signer = try forge.signer()
        let token = try JOSEToken(parsing: signer.sign(made).utf8.span)
        #expect(token.payload["sub"]?.string == person ?? "65f0c0ffee65f0c0ffee65f0")
        #expect(token.payload["orgid"]?.string == Fixture.organization.rawValue)
        #expect(token.payload["username"]?.string == "acme-mobile" && token.payload["group"]?.string == "System")
        let verifier = OwnTokenVerifier(
            issuer: F.gateway,
            keys: VerificationKeySet([try #require(signer.verificationKey)])
        )
        #expect(try verifier.verify(token, kinds: CredentialKinds([.appToken]), now: F.now) == made)
        let others = try JOSEToken(parsing: signer.sign(own(.appToken)).utf8.span)
        #expect(others.payload["username"] == nil && others.payload["group"] == nil)
    }

    @Test func `EdDSA signs by setting`() throws {
        let signer = try #require(TokenSigner(key: forge.edDSA, issuer: F.gateway))
        #expect(signer.algorithm == .edDSA)
        let key = try #require(signer.verificationKey)
        let token = try JOSEToken(parsing: signer.sign(own()).utf8.span)
        let verifier = OwnTokenVerifier(issuer: F.gateway, keys: VerificationKeySet([key]))
        #expect(try verifier.verify(token, kinds: CredentialKinds([.sessionToken]), now: F.now) == own())
        #expect(TokenSigner(key: forge.rsa, issuer: F.gateway) == nil)
    }

    @Test(
        arguments: [
            ("other issuer", [("iss", "\"https://evil.example\"")], TokenFault.wrongIssuer),
            ("other audience", [("aud", "\"acme-api\"")], .wrongAudience),
            ("one audience more", [("aud", "[\"sallyport\",\"x\"]")], .wrongAudience),
            ("kind and typ differ", [("kind", "\"app_token\"")], .wrongType),
            ("kind unknown", [("kind", "\"admin_token\"")], .wrongKind), ("kind missing", [("kind", nil)], .badClaims),
            ("dialect unknown", [("dialect", "\"other\"")], .badClaims),
            ("dialect missing", [("dialect", nil)], .badClaims),
            ("organization missing", [("org", nil)], .badClaims), ("app missing", [("app", nil)], .badClaims),
            ("app_id missing", [("app_id", nil)], .badClaims), ("jti missing", [("jti", nil)], .badClaims),
            ("iat missing", [("iat", nil)], .badClaims), ("exp missing", [("exp", nil)], .badClaims),
            ("trust unknown", [("app_trust", "\"total\"")], .badClaims),
            ("trust a number", [("app_trust", "3")], .badClaims),
            ("attested without trust", [("app_trust", nil)], .badClaims),
            ("attested with development trust", [("app_trust", "\"development\"")], .badClaims),
            ("origin sign-in with trust", [("app_auth", "\"origin\"")], .badClaims),
            ("development with hardware trust", [("app_auth", "\"development\"")], .badClaims),
            ("no leeway for our own clock", [("exp", "\(F.seconds(0))")], .expired),
            ("further ahead than clocks may be", [("iat", "\(F.seconds(61))")], .notYetValid),
            ("a year", [("exp", "\(F.seconds(365 * 86_400))")], .tooLongLived),
            ("attest a text", [("attest", "\"ios\"")], .badClaims),
            ("attest without method", [("attest", "{\"platform\":\"ios\"}")], .badClaims),
        ] as [(String, [(String, String?)], TokenFault)]
    )
    func `claims that disagree are refused, even when we signed them`(
        name: String,
        changes: [(String, String?)],
        fault: TokenFault
    ) throws {
        let text = try forge.es256(F.ownHeader(forge.signer().keyID), F.ownClaims(changes))
        #expect(try forge.judgeOwn(text) == fault, "\(name)")
    }

    @Test func `a token runs out to the second`() throws {
        let text = try forge.es256(F.ownHeader(forge.signer().keyID), F.ownClaims())
        #expect(try forge.judgeOwn(text, at: F.now + 299_999) == nil)
        #expect(try forge.judgeOwn(text, at: F.now + 300_000) == .expired)
    }

    @Test func `header attacks on our own tokens are refused`() throws {
        let id = try forge.signer().keyID
        for (changes, fault) in [
            ([("kid", nil)], TokenFault.unknownKey), ([("kid", "\"other\"")], .unknownKey),
            ([("typ", "\"JWT\"")], .wrongType), ([("typ", nil)], .wrongType),
            ([("alg", "\"RS256\"")], .wrongAlgorithm), ([("alg", "\"HS256\"")], .wrongAlgorithm),
            ([("alg", "\"EdDSA\"")], .unknownKey), ([("jwk", "{}")], .forbiddenHeader),
        ] as [([(String, String?)], TokenFault)] {
            #expect(try forge.judgeOwn(forge.es256(F.ownHeader(id, changes), F.ownClaims())) == fault, "\(changes)")
        }
        // A token of an outside issuer with the same key is none of ours.
        #expect(try forge.judgeOwn(forge.es256()) == .unknownKey)
    }
}
