// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Credentials

@Suite struct PersonTableTests {
    private let app: App

    init() throws {
        app = try App(compiling: Fixture.app())
    }

    private func facts(
        _ kind: CredentialKind = .person,
        organization: OrganizationID = Fixture.organization,
        dialect: Dialect = .appengine,
        person: String? = "17",
        expiresAt: Int64 = Fixture.now + 1
    ) -> TokenFacts {
        let source = OwnSource(
            organization: organization,
            app: RecordID(rawValue: "000000000000000000000000"),
            appID: Fixture.appID,
            dialect: dialect
        )
        return TokenFacts(
            kind: kind,
            source: .own(source),
            trust: nil,
            person: person,
            issuedAt: 0,
            expiresAt: expiresAt,
            tokenID: "t"
        )
    }

    /// The judgement in one word.
    private func judge(_ rule: PersonRule, _ token: TokenEvidence = .unchecked, hasField: Bool = true) -> String {
        let bytes = Array("Bearer x".utf8)
        var presented = PresentedCredentials(head: bytes.span)
        if hasField { presented.note(.clientAuthorization, at: 0..<bytes.count) }
        switch PersonTable.judge(
            presented,
            rule: rule,
            app: app,
            dialect: .appengine,
            token: token,
            now: Fixture.now
        ) {
        case .nobody: return "nobody"
        case .person(let person): return person
        case .needsToken: return "?"
        case .refused(let refusal): return refusal.code.rawValue
        }
    }

    @Test func `a person is ignored, taken or needed as the route says`() {
        #expect(judge(.none, .verified(facts())) == "nobody")
        #expect(judge(.optional, hasField: false) == "nobody")
        #expect(judge(.required, hasField: false) == "person_token_required")
        for rule in [PersonRule.optional, .required] {
            #expect(judge(rule) == "?")
            #expect(judge(rule, .verified(facts())) == "17")
            #expect(judge(rule, .invalid(.badSignature)) == "person_token_invalid")
        }
    }

    @Test(arguments: CredentialKind.allCases.filter { $0 != .person })
    func `no other kind of token is a person`(kind: CredentialKind) {
        #expect(judge(.optional, .verified(facts(kind))) == "person_token_invalid")
    }

    @Test func `a person of another organization or dialect, without a name, or late is refused`() {
        let other = OrganizationID(rawValue: "globex")
        #expect(judge(.required, .verified(facts(organization: other))) == "person_token_invalid")
        #expect(judge(.required, .verified(facts(dialect: .offlineid))) == "person_token_invalid")
        #expect(judge(.required, .verified(facts(person: nil))) == "person_token_invalid")
        #expect(judge(.required, .verified(facts(expiresAt: Fixture.now))) == "person_token_invalid")
    }

    @Test func `an outside person counts for the organizations of the issuer only`() throws {
        let forge = try TokenForge.shared.get()
        func outside(_ issuer: OutsideIssuer) -> TokenFacts {
            TokenFacts(
                kind: .person,
                source: .outside(issuer, nil),
                trust: nil,
                person: "ada",
                issuedAt: 0,
                expiresAt: Fixture.now + 1,
                tokenID: nil
            )
        }
        #expect(judge(.required, .verified(outside(forge.issuer()))) == "ada")
        let globex = forge.issuer(organization: OrganizationID(rawValue: "globex"))
        #expect(judge(.required, .verified(outside(globex))) == "person_token_invalid")
    }
}
