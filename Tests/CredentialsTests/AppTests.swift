// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Credentials

@Suite struct AppTests {
    private func app(origins: [String] = [], domains: [String] = []) throws -> App {
        try App(
            compiling: Fixture.app {
                $0.origins = origins
                $0.domains = domains
            }
        )
    }

    @Test(arguments: [
        ("http://localhost:8081", true), ("HTTP://LOCALHOST:8081", true), ("http://localhost:8081/", true),
        ("http://localhost:3000", false), ("https://localhost:8081", false), ("http://localhost", false),
        ("null", false), ("", false), ("http://u@localhost:8081", false), ("http://localhost:8081/x", false),
        ("http://localhost.evil.example:8081", false), ("http://localhost:80810", false),
    ])
    func `an origin is matched on scheme, host and port`(origin: String, isAllowed: Bool) throws {
        let app = try app(origins: ["http://localhost:8081", "https://shop.example.com"])
        #expect(app.allowsOrigin(text: origin) == isAllowed)
    }

    @Test func `both spellings of an international name match`() throws {
        let app = try app(origins: ["https://xn--bcher-kva.example"])
        #expect(app.allowsOrigin(text: "https://xn--bcher-kva.example"))
        #expect(app.allowsOrigin(text: "https://Bücher.example"))
        #expect(!app.allowsOrigin(text: "https://bucher.example"))
    }

    @Test(arguments: [
        ("shop.example.com", "shop.example.com", true), ("shop.example.com", "shop.example.com:8443", true),
        ("shop.example.com", "www.shop.example.com", false), ("shop.example.com", "example.com", false),
        ("localhost:3200", "localhost:3200", true), ("localhost:3200", "localhost:3000", false),
        ("localhost:3200", "localhost", false), ("[::1]:3000", "[::1]:3000", true), ("[::1]:3000", "[::1]", false),
        ("[::1]", "[::1]:3000", true), ("xn--bcher-kva.example", "Bücher.example", true),
        ("xn--bcher-kva.example", "xn--bcher-kva.example", true), ("shop.example.com:443", "shop.example.com", false),
        ("shop.example.com", "Shop.Example.com.", true), ("shop.example.com", "", false),
    ])
    func `a domain is allowed as its entry says`(entry: String, domain: String, isAllowed: Bool) throws {
        let verdict = try app(domains: [entry]).judge(domain: domain, origin: nil)
        #expect(verdict == (isAllowed ? .allowed : .notAllowed))
    }

    @Test(
        arguments: [
            ("shop.example.com", nil, DomainVerdict.allowed),
            ("shop.example.com", "https://shop.example.com", .allowed),
            ("shop.example.com", "https://shop.example.com:443", .allowed),
            ("Shop.Example.com.", "https://shop.example.com", .allowed),
            ("shop.example.com:8443", "https://shop.example.com:8443", .allowed),
            ("shop.example.com", "https://shop.example.com:8443", .originMismatch),
            ("shop.example.com", "https://www.shop.example.com", .originMismatch),
            ("shop.example.com", "null", .originMismatch),
            ("shop.example.com", "", .originMismatch),
            ("shop.example.com", "https://u@shop.example.com", .originMismatch),
            ("other.example.com", "https://other.example.com", .notAllowed),
            (nil, "https://shop.example.com", .notAllowed),
        ] as [(String?, String?, DomainVerdict)]
    )
    func `the domain comes first, then the origin must name the same host`(
        domain: String?,
        origin: String?,
        verdict: DomainVerdict
    ) throws {
        #expect(try app(domains: ["shop.example.com", "b.example"]).judge(domain: domain, origin: origin) == verdict)
        #expect(try app().judge(domain: domain, origin: origin) == .notConfigured)
    }

    @Test func `a kept default port matches a portless domain only through the origin`() throws {
        let app = try app(domains: ["shop.example.com:443"])
        #expect(app.judge(domain: "shop.example.com", origin: "https://shop.example.com") == .allowed)
        #expect(app.judge(domain: "shop.example.com", origin: "http://shop.example.com") == .notAllowed)
        #expect(app.judge(domain: "shop.example.com", origin: nil) == .notAllowed)
    }

    @Test(arguments: [
        ("https://shop.example.com", true), ("https://shop.example.com:8443", true), ("http://shop.example.com", true),
        ("https://www.shop.example.com", false), ("https://a.example:444", true), ("https://a.example", false),
        ("https://b.example", true), ("http://b.example", false), ("https://B.example:443", true), ("null", false),
        ("http://[::1]:3000", true), ("http://[::1]", false), ("http://[0::1]:3000", true),
    ])
    func `a page is on a listed domain or not`(origin: String, isAllowed: Bool) throws {
        let app = try app(domains: ["shop.example.com", "a.example:444", "b.example:443", "[::1]:3000"])
        #expect(app.allowsSite(text: origin) == isAllowed)
    }

    @Test func `a record that is not in normal form does not compile`() throws {
        #expect(throws: AppProblem.origin("HTTPS://a.com")) { try app(origins: ["HTTPS://a.com"]) }
        #expect(throws: AppProblem.domain("A.com")) { try app(domains: ["A.com"]) }
        let bad = try Fixture.app { $0.keys[0].secret.hash = "00" }
        #expect(throws: AppProblem.key(bad.keys[0].id)) { try App(compiling: bad) }
    }

    @Test func `development mode ends by itself and never runs in production`() throws {
        let app = try App(compiling: Fixture.app { $0.developmentUntil = Fixture.now + 1_000 })
        #expect(app.isInDevelopment(now: Fixture.now + 999))
        #expect(!app.isInDevelopment(now: Fixture.now + 1_000))
        let production = try App(
            compiling: Fixture.app {
                $0.developmentUntil = Fixture.now + 1_000
                $0.isProduction = true
            }
        )
        #expect(!production.isInDevelopment(now: Fixture.now))
    }
}
