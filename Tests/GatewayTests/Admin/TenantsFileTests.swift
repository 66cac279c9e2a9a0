// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Store
import Testing

@testable import Gateway

@Suite struct TenantsFileTests {
    private let whole = """
        version: 1
        organizations:
          - id: acme
            name: Acme
            apps:
              - id: app_one
                username: one
                origins: [HTTPS://Shop.Example.com:443/]
                native:
                  ios: [{ bundle_id: com.acme.one, team_id: ABCDE12345 }]
                check: monitor
                production: true
        """

    private func problems(_ text: String) -> [ConfigurationProblem] {
        do {
            _ = try TenantsFile(parsing: text, file: "t.yaml")
            return []
        } catch {
            return error.problems
        }
    }

    @Test func `a file is read with its sites in normal form`() throws {
        let file = try TenantsFile(parsing: whole, file: "t.yaml")
        let app = try #require(file.organizations.first?.apps.first)
        #expect(file.organizations[0].name == "Acme")
        #expect(app.origins == ["https://shop.example.com"])
        #expect(app.ios == [IOSIdentity(bundleID: "com.acme.one", teamID: "ABCDE12345")])
        #expect(app.check == .monitor)
        #expect(app.domains == nil)
    }

    @Test(
        arguments: [
            ("version: 1", "version: 2", "version"), ("id: acme", "id: ACME", "organizations[0].id"),
            ("id: app_one", "id: one", "organizations[0].apps[0].id"),
            ("check: monitor", "check: maybe", "organizations[0].apps[0].check"),
            ("production: true", "production: yes please", "organizations[0].apps[0].production"),
            ("username: one", "user: one", "organizations[0].apps[0].user"),
            ("HTTPS://", "ftp://", "organizations[0].apps[0].origins"),
            ("ABCDE12345", "abc", "organizations[0].apps[0].native.ios[0].team_id"),
        ]
    )
    func `a fault is named with its place`(good: String, bad: String, path: String) throws {
        let text = whole.split(separator: good, maxSplits: 1, omittingEmptySubsequences: false).joined(separator: bad)
        let found = problems(text)
        #expect(found.map(\.path) == [path])
        #expect(found.allSatisfy { $0.line > 0 && $0.file == "t.yaml" })
    }

    @Test(arguments: [("com.acme.one", true), ("com.acme one", false), ("com.acme;reboot", false), ("one", false)])
    func `a package has the form that a command would take`(_ package: String, _ isTaken: Bool) {
        let text = whole.replacing(
            "check: monitor",
            with: "android_degraded: refuse"
        ).replacing(
            "ios: [{ bundle_id: com.acme.one, team_id: ABCDE12345 }]",
            with: "android: [{ package: '\(package)', sha256: ['\(String(repeating: "11", count: 32))'] }]"
        )
        let told = problems(text).map { "\($0)" }
        #expect(told.isEmpty == isTaken)
        #expect(told.allSatisfy { $0.contains("expected a package name") })
    }

    @Test func `all faults are told at once, and none for nothing`() {
        let text = "version: 1\norganizations:\n  - id: A\n    app: []\n  - name: x\n"
        #expect(problems(text).count == 3)
        #expect(!problems("").isEmpty)
        #expect(!problems("- a").isEmpty)
    }

    @Test func `bringing a record to the file's state tells each change once`() throws {
        let app = try #require(TenantsFile(parsing: whole, file: "t.yaml").organizations.first?.apps.first)
        var record = AppRecord(
            recordID: RecordID(rawValue: "0123456789abcdef01234567"),
            appID: app.id,
            username: "old",
            organization: OrganizationID(rawValue: "acme"),
            name: "n",
            createdAt: 0,
            dialects: [.offlineid]
        )
        record.origins = ["https://gone.example"]
        record.developmentUntil = 100
        let events = try app.bring(&record, now: 50).map(\.name)
        #expect(
            events == [
                "username_changed", "origin_removed", "origin_added", "native_ios_added", "check_changed",
                "development_mode_disabled", "production_marked",
            ]
        )
        #expect(record.developmentUntil == nil)
        let again = try app.bring(&record, now: 50)
        #expect(again.isEmpty)
    }
}
