// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Credentials

@Suite struct AppNamingTests {
    private func name(
        _ fields: [(CredentialField, String)],
        _ dialect: Dialect = .offlineid,
        routeNamesApp: Bool = false
    ) -> AppNaming {
        let texts = fields.map { Array($0.1.utf8) }
        let head = texts.flatMap { $0 }
        var presented = PresentedCredentials(head: head.span)
        var start = 0
        for (index, field) in fields.enumerated() {
            presented.note(field.0, at: start..<(start + texts[index].count))
            start += texts[index].count
        }
        return AppNaming.of(presented, dialect: dialect, routeNamesApp: routeNamesApp)
    }

    @Test func `dialect A names the app by X-App-Id before anything else`() {
        let key = Fixture.key(1).text
        #expect(name([(.appID, "app_7f3c2a"), (.apiKey, key)]) == .appID)
        #expect(name([(.apiKey, key)]) == .apiKey)
        #expect(name([(.apiKey, key)], routeNamesApp: true) == .apiKey)
        #expect(name([], routeNamesApp: true) == .route)
        #expect(name([(.authorization, "Bearer x")]) == .token)
        #expect(name([]) == .refused(Refusal(.invalidApp)))
    }

    @Test(arguments: [
        "", "app_", "7f3c2a", "app_7f-3c", "app_\(String(repeating: "a", count: 61))", "APP_7f3c2a", "app_7f3c2a ",
    ])
    func `an App ID of another form is an unknown app`(text: String) {
        #expect(name([(.appID, text)]) == .refused(Refusal(.invalidApp)))
    }

    @Test func `dialect C names the app by organization and name`() {
        #expect(name([(.organization, "acme"), (.appName, "acme-web")], .appengine) == .organizationAndName)
        #expect(name([(.appName, "acme-web")], .appengine) == .refused(Refusal(.missingOrganization)))
        #expect(name([], .appengine) == .refused(Refusal(.missingOrganization)))
        #expect(name([(.authorization, "Bearer x")], .appengine) == .refused(Refusal(.missingOrganization)))
        #expect(name([(.organization, "acme"), (.authorization, "Bearer x")], .appengine) == .token)
        #expect(name([(.organization, "acme"), (.apiKey, Fixture.key(1).text)], .appengine) == .apiKey)
        #expect(name([(.organization, "acme"), (.appID, "app_7f3c2a")], .appengine) != .appID)
    }

    @Test(arguments: CredentialField.allCases)
    func `a field that comes twice is ambiguous`(field: CredentialField) {
        #expect(name([(field, "a"), (field, "a")]) == .refused(Refusal(.ambiguousCredentials)))
    }

    @Test func `a mistyped key names nobody and says so`() {
        let refusal = Refusal(.appCredentialsRequired, missing: .credential, reason: "malformed_key")
        #expect(name([(.apiKey, "sally_x")]) == .refused(refusal))
    }
}
