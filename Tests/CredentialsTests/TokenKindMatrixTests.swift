// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Credentials

/// No kind of token is taken in another's place, in either field and in either direction.
@Suite struct TokenKindMatrixTests {
    private static let bearers: [CredentialKind] = [
        .appToken, .webToken, .serverToken, .debugToken, .runToken, .sessionToken, .person,
    ]
    private let app: App
    private let peppers: PepperRing

    init() throws {
        app = try App(compiling: Fixture.app())
        peppers = try Fixture.peppers()
    }

    private func facts(_ kind: CredentialKind, dialect: Dialect, trust: Trust? = .hardware) -> TokenFacts {
        let source = OwnSource(
            organization: Fixture.organization,
            app: app.recordID,
            appID: Fixture.appID,
            dialect: dialect
        )
        return TokenFacts(
            kind: kind,
            source: .own(source),
            trust: kind.carriesTrust ? trust : nil,
            person: "17",
            issuedAt: Fixture.now - 1_000,
            expiresAt: Fixture.now + 1,
            tokenID: "t"
        )
    }

    private func judge(
        _ evidence: TokenEvidence,
        on credentials: [CredentialKind],
        dialect: Dialect,
        now: Int64 = Fixture.now,
        minimumTrust: Trust? = nil
    ) -> Judgement {
        let head = Array("Bearer xacme".utf8)
        var presented = PresentedCredentials(head: head.span)
        presented.note(.authorization, at: 0..<8)
        presented.note(.organization, at: 8..<12)
        return CredentialTable.judge(
            presented,
            access: .restricted(
                AccessRules(
                    organizations: .any,
                    credentials: CredentialKinds(credentials),
                    minimumTrust: minimumTrust
                )
            ),
            app: .found(app),
            named: .token,
            dialect: dialect,
            peppers: peppers,
            token: evidence,
            now: now
        )
    }

    private func admits(_ judgement: Judgement, as kind: CredentialKind) -> Bool {
        guard case .admitted(let admission) = judgement else { return false }
        return admission.kind == kind
    }

    private func code(_ judgement: Judgement) -> RefusalCode? {
        guard case .refused(let refusal) = judgement else { return nil }
        return refusal.code
    }

    @Test(arguments: bearers, Dialect.allCases)
    func `a token opens routes of its own kind and of no other`(kind: CredentialKind, dialect: Dialect) {
        for listed in Self.bearers {
            let judgement = judge(.verified(facts(kind, dialect: dialect)), on: [listed], dialect: dialect)
            #expect(admits(judgement, as: kind) == (kind == listed), "\(kind) where \(listed) is listed")
        }
        let others = Self.bearers.filter { $0 != kind }
        #expect(!admits(judge(.verified(facts(kind, dialect: dialect)), on: others, dialect: dialect), as: kind))
    }

    @Test(arguments: bearers, Dialect.allCases)
    func `going on by the token alone says what the whole table says`(kind: CredentialKind, dialect: Dialect) {
        let evidences: [TokenEvidence] = [
            .verified(facts(kind, dialect: dialect)), .verified(facts(kind, dialect: .vouch)), .invalid(.expired),
            .invalid(.revoked), .absent,
        ]
        for evidence in evidences {
            for listed in Self.bearers {
                let whole = judge(evidence, on: [listed], dialect: dialect)
                let rules = AccessRules(organizations: .any, credentials: CredentialKinds([listed]))
                let alone = CredentialTable.judge(
                    byToken: evidence,
                    access: .restricted(rules),
                    app: app,
                    dialect: dialect,
                    now: Fixture.now
                )
                // Where the token decides nothing the whole table refuses, for what else is missing.
                guard let alone else {
                    #expect(code(whole) == .appCredentialsRequired)
                    continue
                }
                #expect(admits(alone, as: listed) == admits(whole, as: listed))
                #expect(code(alone) == code(whole))
            }
        }
    }

    @Test(arguments: bearers)
    func `a token of one dialect opens nothing of another`(kind: CredentialKind) {
        for made in Dialect.allCases {
            for used in Dialect.allCases {
                let judgement = judge(.verified(facts(kind, dialect: made)), on: [kind], dialect: used)
                #expect(admits(judgement, as: kind) == (made == used))
            }
        }
    }

    @Test(arguments: bearers)
    func `only a person is taken as the person`(kind: CredentialKind) {
        let bytes = Array("x".utf8)
        var presented = PresentedCredentials(head: bytes.span)
        presented.note(.clientAuthorization, at: 0..<bytes.count)
        let judgement = PersonTable.judge(
            presented,
            rule: .optional,
            app: app,
            dialect: .appengine,
            token: .verified(facts(kind, dialect: .appengine)),
            now: Fixture.now
        )
        switch judgement {
        case .person(let person): #expect(kind == .person && person == "17")
        case .refused(let refusal): #expect(kind != .person && refusal.code == .personTokenInvalid)
        case .nobody, .needsToken: Issue.record("not judged")
        }
    }

    @Test func `a development token lasts to the last millisecond of the mode, and the mode to production`() throws {
        let end = Fixture.now + 60_000
        for (now, isProduction, passes) in [(end - 1, false, true), (end, false, false), (end - 1, true, false)] {
            let app = try App(
                compiling: Fixture.app { record in
                    record.developmentUntil = end
                    record.isProduction = isProduction
                }
            )
            #expect(app.isInDevelopment(now: now) == passes)
        }
    }

    @Test func `development trust needs the mode, but for run tokens`() {
        for kind in Self.bearers {
            let judgement = judge(
                .verified(facts(kind, dialect: .vouch, trust: .development)),
                on: [kind],
                dialect: .vouch
            )
            if kind == .appToken || kind == .sessionToken {
                #expect(code(judgement) == .appCredentialsRequired)
            } else {
                #expect(admits(judgement, as: kind))
            }
        }
    }

    @Test func `trust counts for the kinds that carry it`() {
        for kind in Self.bearers {
            let judgement = judge(
                .verified(facts(kind, dialect: .vouch, trust: .degraded)),
                on: [kind],
                dialect: .vouch,
                minimumTrust: .hardware
            )
            if kind.carriesTrust {
                #expect(code(judgement) == .trustTooLow)
            } else {
                #expect(admits(judgement, as: kind))
            }
        }
    }

    @Test func `what is no bearer token is no credential, and no bad one either`() {
        #expect(code(judge(.absent, on: [.sessionToken], dialect: .offlineid)) == .appCredentialsRequired)
        #expect(code(judge(.invalid(.malformed), on: [.sessionToken], dialect: .offlineid)) == .appTokenInvalid)
    }

    @Test func `why a run token does not count is not told apart`() {
        let foreign = facts(.runToken, dialect: .appengine)
        for evidence in [TokenEvidence.invalid(.unknownKey), .invalid(.revoked), .verified(foreign)] {
            #expect(code(judge(evidence, on: [.runToken], dialect: .vouch)) == .invalidRunToken)
        }
    }
}
