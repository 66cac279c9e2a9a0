// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Testing

@testable import Credentials

@Suite struct TokenAuthorityTests {
    private typealias F = TokenForge
    private let forge: TokenForge

    init() throws {
        forge = try TokenForge.shared.get()
    }

    private func authority(_ issuers: [OutsideIssuer]? = nil) throws -> TokenAuthority {
        let signer = try forge.signer()
        let own = VerificationKeySet([try #require(signer.verificationKey)])
        return TokenAuthority(
            own: OwnTokenVerifier(issuer: F.gateway, keys: own),
            issuers: (issuers ?? [forge.issuer()]).map { ($0, forge.keys()) }
        )
    }

    private func verify(
        _ text: String,
        _ use: TokenUse,
        by authority: TokenAuthority
    ) -> Result<TokenFacts, TokenFault> {
        Result { () throws(TokenFault) in try authority.verify(text.utf8.span, as: use, now: F.now) }
    }

    private func own(_ kind: CredentialKind) throws -> String {
        let type = "\"sallyport-\(kind.rawValue)+jwt\""
        let claims = F.ownClaims([("kind", "\"\(kind.rawValue)\"")])
        return try forge.es256(F.ownHeader(forge.signer().keyID, [("typ", type)]), claims)
    }

    @Test(arguments: CredentialKind.allCases)
    func `our kinds come in their own field and in no other`(kind: CredentialKind) throws {
        let authority = try authority()
        let text = try own(kind)
        for use in TokenUse.allCases {
            switch verify(text, use, by: authority) {
            case .success(let facts):
                #expect(use.kinds.contains(kind))
                #expect(facts.kind == kind)
            case .failure(let fault):
                #expect(!use.kinds.contains(kind))
                #expect(fault == .wrongKind)
            }
        }
    }

    @Test func `an issuer's tokens come in the field of its kind`() throws {
        let text = try forge.es256()
        #expect(verify(text, .person, by: try authority()).kind == .person)
        #expect(verify(text, .application, by: try authority()).fault == .wrongIssuer)
        let sessions = try authority([forge.issuer(kind: .session)])
        #expect(verify(text, .application, by: sessions).kind == .sessionToken)
        #expect(verify(text, .person, by: sessions).fault == .wrongIssuer)
    }

    @Test func `a session tells its app and its trust, or it is none`() throws {
        let sessions = try authority([forge.issuer(kind: .session, appClaim: "app_id", trustClaim: "app_trust")])
        let app = ("app_id", "\"app_7f3c2a\"")
        let good = try forge.es256(F.header("ES256"), F.claims([app, ("app_trust", "\"degraded\"")]))
        #expect(try verify(good, .application, by: sessions).get().trust == .degraded)
        let unproved = try forge.es256(F.header("ES256"), F.claims([app]))
        #expect(try verify(unproved, .application, by: sessions).get().trust == nil)
        let nameless = try forge.es256(F.header("ES256"), F.claims([("app_trust", "\"hardware\"")]))
        #expect(verify(nameless, .application, by: sessions).fault == .badClaims)
        let invented = try forge.es256(F.header("ES256"), F.claims([app, ("app_trust", "\"high\"")]))
        #expect(verify(invented, .application, by: sessions).fault == .badClaims)
    }

    @Test func `an issuer that nobody listed is refused before any signature is checked`() throws {
        let text = try forge.es256(F.header("ES256"), F.claims([("iss", "\"https://evil.example/\"")]))
        #expect(verify(text, .person, by: try authority()).fault == .wrongIssuer)
    }

    @Test func `one issuer's keys never verify another's tokens`() throws {
        let stranger = try #require(
            VerificationKey(id: "k1", publicKey: forge.stranger.publicKey, algorithms: [.es256])
        )
        let two = TokenAuthority(
            own: nil,
            issuers: [
                (forge.issuer(), VerificationKeySet([stranger])),
                (forge.issuer(name: "https://b.example/"), forge.keys()),
            ]
        )
        #expect(verify(try forge.es256(), .person, by: two).fault == .badSignature)
    }

    @Test func `a key that is not in the set is a reason to fetch it, a bad signature is none`() throws {
        let authority = try authority()
        let unknown = try forge.es256(F.header("ES256", [("kid", "\"new\"")]))
        let known = try forge.es256()
        #expect(authority.issuerMissingKey(of: unknown.utf8.span, as: .person) == "acme-users")
        #expect(authority.issuerMissingKey(of: known.utf8.span, as: .person) == nil)
        #expect(authority.issuerMissingKey(of: unknown.utf8.span, as: .application) == nil)
        #expect(authority.issuerMissingKey(of: "x".utf8.span, as: .person) == nil)
    }

    @Test func `an issuer of apps must name a well-formed app`() throws {
        let apps = try authority([forge.issuer(kind: .app, appClaim: "azp")])
        let good = try forge.es256(F.header("ES256"), F.claims([("azp", "\"app_7f3c2a\"")]))
        guard case .success(let facts) = verify(good, .application, by: apps) else {
            Issue.record("refused")
            return
        }
        #expect(facts.namedApp == .appID(Fixture.appID))
        for claim in [nil, "\"acme\"", "1", "\"app_\"", "\"app_7f-\""] {
            let bad = try forge.es256(F.header("ES256"), F.claims([("azp", claim)]))
            #expect(verify(bad, .application, by: apps).fault == .badClaims)
        }
    }

    @Test(
        arguments: [
            ("Bearer abc", 7..<10, 7..<10), ("bearer abc", 7..<10, 7..<10), ("BEARER abc", 7..<10, 7..<10),
            ("abc", nil, 0..<3), ("Basic abc", nil, nil), ("Bearer", nil, 0..<6), ("Bearer ", nil, nil),
            ("Bearer  abc", 8..<11, 8..<11), ("Bearer  ", nil, nil), ("Bearer abc def", nil, nil), ("", nil, nil),
            ("Bearer\tabc", nil, nil),
            ("Bearer ab\u{7f}", nil, nil),
        ] as [(String, Range<Int>?, Range<Int>?)]
    )
    func `the bearer scheme is needed in one field and optional in the other`(
        text: String,
        application: Range<Int>?,
        person: Range<Int>?
    ) {
        let inApplication = BearerField.token(authorization: text.utf8.span)
        let inPerson = BearerField.place(clientAuthorization: text.utf8.span)
            .flatMap { TokenRange.isOneWord(text.utf8.span.extracting($0)) ? $0 : nil }
        #expect(inApplication?.range == application)
        #expect(inPerson == person)
    }
}

extension Result<TokenFacts, TokenFault> {
    fileprivate var kind: CredentialKind? {
        guard case .success(let facts) = self else { return nil }
        return facts.kind
    }

    fileprivate var fault: TokenFault? {
        guard case .failure(let fault) = self else { return nil }
        return fault
    }
}
