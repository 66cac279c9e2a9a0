// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

@testable import Credentials

/// What a request of the matrix shows.
enum Shown: String, CaseIterable {
    case nothing, goodKey, otherAppsKey, mistypedKey, wrongSecret, listedOrigin, unlistedOrigin, nullOrigin
    case goodKeyUnlistedOrigin, badKeyListedOrigin, badKeyUnlistedOrigin, twoOrigins
    case hardwareToken, degradedToken, developmentToken, untrustedToken, otherAppsToken, otherDialectsToken
    case expiredToken, invalidToken, uncheckedToken, tokenAndUnlistedOrigin

    var isGood: Bool {
        switch self {
        case .goodKey, .listedOrigin, .goodKeyUnlistedOrigin, .badKeyListedOrigin, .hardwareToken, .degradedToken,
            .developmentToken, .tokenAndUnlistedOrigin:
            true
        case .nothing, .otherAppsKey, .mistypedKey, .wrongSecret, .unlistedOrigin, .nullOrigin, .badKeyUnlistedOrigin,
            .twoOrigins, .untrustedToken, .otherAppsToken, .otherDialectsToken, .expiredToken, .invalidToken,
            .uncheckedToken:
            false
        }
    }
}

/// The state of the app of the matrix.
enum AppState: String, CaseIterable {
    case enabled, native, development, disabled, revoked, closedOrganization, otherDialect, unknown, unavailable
}

/// The routes of the matrix.
enum Way: String, CaseIterable {
    case open, key, origin, keyOrOrigin, token, all, hardware, otherOrganization, attesting

    var access: RouteAccess {
        let acme = OrganizationRule.only([Fixture.organization])
        let everything = CredentialKinds([.origin, .apiKey, .sessionToken])
        return switch self {
        case .open: .open
        case .key: .restricted(AccessRules(organizations: acme, credentials: CredentialKinds([.apiKey])))
        case .origin: .restricted(AccessRules(organizations: .any, credentials: CredentialKinds([.origin])))
        case .keyOrOrigin:
            .restricted(AccessRules(organizations: acme, credentials: CredentialKinds([.origin, .apiKey])))
        case .token: .restricted(AccessRules(organizations: acme, credentials: CredentialKinds([.sessionToken])))
        case .all: .restricted(AccessRules(organizations: acme, credentials: everything))
        case .hardware:
            .restricted(AccessRules(organizations: acme, credentials: everything, minimumTrust: .hardware))
        case .otherOrganization:
            .restricted(
                AccessRules(organizations: .only([OrganizationID(rawValue: "globex")]), credentials: everything)
            )
        case .attesting:
            .restricted(AccessRules(organizations: acme, credentials: everything, takesAttestation: true))
        }
    }
}

/// Judges every combination and writes it as text.
struct JudgementMatrix {
    private let peppers: PepperRing

    init() throws {
        peppers = try Fixture.peppers()
    }

    /// One block a dialect and route, one line a presented credential, one column an app state.
    var text: String {
        var text = ""
        for dialect in [Dialect.offlineid, .appengine] {
            for way in Way.allCases {
                text += "\n== \(dialect.rawValue), route \(way.rawValue)\n"
                text += Self.line("", AppState.allCases.map(\.rawValue))
                for shown in Shown.allCases {
                    text += Self.line(shown.rawValue, AppState.allCases.map { cell(shown, $0, way, dialect) })
                }
            }
        }
        return text
    }

    /// Every cell of restricted routes with what was shown.
    var cells: [(Shown, String)] {
        Shown.allCases.flatMap { shown in
            AppState.allCases.flatMap { state in
                Way.allCases.filter { $0 != .open }.map { (shown, cell(shown, state, $0, .offlineid)) }
            }
        }
    }

    private static func line(_ head: String, _ cells: [String]) -> String {
        var line = head
        var width = 24
        for cell in cells {
            line += String(repeating: " ", count: max(1, width - line.count)) + cell
            width += 36
        }
        return line + "\n"
    }

    private func cell(_ shown: Shown, _ state: AppState, _ way: Way, _ dialect: Dialect) -> String {
        switch judge(shown, state, way, dialect) {
        case .open: return "open"
        case .needsToken: return "?token"
        case .admitted(let admission): return "+" + admission.kind.rawValue
        case .refused(let refusal):
            return ["\(refusal.code.status)", refusal.code.rawValue, refusal.missing?.rawValue, refusal.reason]
                .compactMap { $0 }.joined(separator: " ")
                .replacing("app_credentials_required ", with: "").replacing(" missing_authorization", with: "")
                .replacing("native_registration", with: "registration")
        }
    }

    func judge(_ shown: Shown, _ state: AppState, _ way: Way, _ dialect: Dialect) -> Judgement {
        let key = keyText(shown) ?? ""
        let origins = origins(shown)
        let bearer = isToken(shown) ? "Bearer x" : ""
        let head = Array((key + origins.joined() + bearer + "acme").utf8)
        let span = head.span
        var presented = PresentedCredentials(head: span)
        var start = 0
        if !key.isEmpty { presented.note(.apiKey, at: 0..<key.utf8.count) }
        start = key.utf8.count
        for origin in origins {
            presented.note(.origin, at: start..<(start + origin.utf8.count))
            start += origin.utf8.count
        }
        if !bearer.isEmpty { presented.note(.authorization, at: start..<(start + bearer.utf8.count)) }
        start += bearer.utf8.count
        if dialect == .appengine { presented.note(.organization, at: start..<(start + 4)) }
        return CredentialTable.judge(
            presented,
            access: way.access,
            app: lookup(state, dialect),
            named: dialect == .appengine ? .organizationAndName : .appID,
            dialect: dialect,
            peppers: peppers,
            token: evidence(shown, dialect),
            now: Fixture.now
        )
    }

    private func keyText(_ shown: Shown) -> String? {
        switch shown {
        case .goodKey, .goodKeyUnlistedOrigin: Fixture.key(1).text
        case .otherAppsKey, .badKeyListedOrigin, .badKeyUnlistedOrigin: Fixture.key(2).text
        case .wrongSecret: Fixture.key(3).text
        case .mistypedKey: String(Fixture.key(1).text.dropLast()) + "!"
        case .nothing, .listedOrigin, .unlistedOrigin, .nullOrigin, .twoOrigins, .hardwareToken, .degradedToken,
            .developmentToken, .untrustedToken, .otherAppsToken, .otherDialectsToken, .expiredToken, .invalidToken,
            .uncheckedToken, .tokenAndUnlistedOrigin:
            nil
        }
    }

    private func origins(_ shown: Shown) -> [String] {
        switch shown {
        case .listedOrigin, .badKeyListedOrigin: [Fixture.listed]
        case .unlistedOrigin, .goodKeyUnlistedOrigin, .badKeyUnlistedOrigin, .tokenAndUnlistedOrigin:
            [Fixture.unlisted]
        case .nullOrigin: ["null"]
        case .twoOrigins: [Fixture.listed, Fixture.listed]
        case .nothing, .goodKey, .otherAppsKey, .mistypedKey, .wrongSecret, .hardwareToken, .degradedToken,
            .developmentToken, .untrustedToken, .otherAppsToken, .otherDialectsToken, .expiredToken, .invalidToken,
            .uncheckedToken:
            []
        }
    }

    private func isToken(_ shown: Shown) -> Bool {
        if case .unchecked = evidence(shown, .offlineid) { return shown == .uncheckedToken }
        return true
    }

    private func evidence(_ shown: Shown, _ dialect: Dialect) -> TokenEvidence {
        switch shown {
        case .hardwareToken, .tokenAndUnlistedOrigin: return .verified(facts(dialect, trust: .hardware))
        case .degradedToken: return .verified(facts(dialect, trust: .degraded))
        case .developmentToken: return .verified(facts(dialect, trust: .development))
        case .untrustedToken: return .verified(facts(dialect, trust: nil))
        case .otherAppsToken:
            return .verified(facts(dialect, trust: .hardware, app: "000000000000000000000000"))
        case .otherDialectsToken: return .verified(facts(.vouch, trust: .hardware))
        case .expiredToken:
            return .verified(facts(dialect, trust: .hardware, expiresAt: Fixture.now))
        case .invalidToken: return .invalid(.malformed)
        case .nothing, .goodKey, .otherAppsKey, .mistypedKey, .wrongSecret, .listedOrigin, .unlistedOrigin,
            .nullOrigin, .goodKeyUnlistedOrigin, .badKeyListedOrigin, .badKeyUnlistedOrigin, .twoOrigins,
            .uncheckedToken:
            return .unchecked
        }
    }

    private func facts(
        _ dialect: Dialect,
        trust: Trust?,
        app: String = "65f0c0ffee65f0c0ffee65f0",
        expiresAt: Int64 = Fixture.now + 1
    ) -> TokenFacts {
        let source = OwnSource(
            organization: Fixture.organization,
            app: RecordID(rawValue: app),
            appID: Fixture.appID,
            dialect: dialect
        )
        return TokenFacts(
            kind: .sessionToken,
            source: .own(source),
            trust: trust,
            person: "17",
            issuedAt: Fixture.now - 1_000,
            expiresAt: expiresAt,
            tokenID: "t"
        )
    }

    private func lookup(_ state: AppState, _ dialect: Dialect) -> AppFinding {
        let wrong = APIKeyRecord(
            id: Fixture.key(3).id,
            name: "",
            secret: peppers.hash("another".utf8.span, .apiKey, createdAt: 0)
        )
        let record = Result {
            try Fixture.app { record in
                record.keys.append(wrong)
                switch state {
                case .native: record.native.ios = [IOSIdentity(bundleID: "com.example.shop", teamID: "ABCDE12345")]
                case .development: record.developmentUntil = Fixture.now + 1
                case .disabled: record.isEnabled = false
                case .revoked: record.isRevoked = true
                case .otherDialect: record.dialects = [.vouch]
                case .enabled, .closedOrganization, .unknown, .unavailable: break
                }
            }
        }
        if state == .unavailable { return .unavailable }
        guard state != .unknown, case .success(let record) = record,
            case .success(let app) = Result(catching: {
                try App(compiling: record, isOrganizationEnabled: state != .closedOrganization)
            })
        else { return .unknown }
        return .found(app)
    }
}
