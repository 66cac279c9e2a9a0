// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Limits
import Testing

@testable import Gateway

@Suite struct ConfigurationTests {
    static let good = """
        version: 1
        listeners:
          - address: 127.0.0.1:8443
            tls: { certificates: [{ cert: a.pem, key: a.key }], default: a.pem }
        upstreams:
          api: { endpoints: [http://127.0.0.1:9000] }
        routes:
          - name: api
            match: { hosts: [API.example.com], path: /v1/ }
            upstream: api
            access: { organizations: [acme], credentials: [origin, api_key] }

        """

    static func load(
        _ text: String,
        environment: [String: String] = [:],
        check: @escaping CertificateCheck = { _ in nil }
    ) throws(ConfigurationProblems) -> Configuration {
        try Configuration(
            parsing: Array(text.utf8),
            path: "/etc/sallyport/sallyport.yaml",
            environment: environment,
            check: check
        )
    }

    static func problems(_ text: String, environment: [String: String] = [:]) -> [ConfigurationProblem] {
        do throws(ConfigurationProblems) {
            _ = try load(text, environment: environment)
            return []
        } catch {
            return error.problems
        }
    }

    @Test func `what is left out has its standard value`() throws {
        let configuration = try Self.load(Self.good)
        #expect(configuration.workers == .automatic)
        #expect(configuration.admin.address == .unix(path: "/etc/sallyport/state/admin.sock"))
        #expect(configuration.metrics == nil)
        #expect(configuration.state.redis == .embedded)
        #expect(configuration.state.serveStale == .seconds(30))
        #expect(configuration.state.windowsOnLoss == .estimate)
        #expect(configuration.log == LogSettings(access: .standardOutput, level: .info))
        let route = try #require(configuration.routes.first)
        #expect(route.dialect == .offlineid)
        #expect(route.cors == nil)
        #expect(route.body == .mebibytes(16))
        #expect(route.timeouts == configuration.upstreams[0].timeouts)
        #expect(route.forward == .standard(for: .offlineid))
    }

    private static func listener(_ more: String) -> String {
        good.replacing("default: a.pem }\n", with: "default: a.pem }\n    \(more)\n")
    }

    @Test func `a listener limits the sign-ins of one client`() throws {
        let limits = "serves: [vouch]\n    limits: [{ name: nonces, per: [client], limit: 10, window: 60s }]"
        let configuration = try Self.load(Self.listener(limits))
        #expect(
            configuration.listeners[0].limits
                == [WindowRule(name: "nonces", per: [.client], limit: 10, window: .seconds(60))]
        )
        #expect(try Self.load(Self.listener("serves: [vouch]")).listeners[0].limits.isEmpty)
    }

    @Test(arguments: [
        ("serves: [vouch]", "{ name: a, per: [app], limit: 10, window: 60s }", "count by client"),
        ("serves: [vouch]", "{ name: a, per: [client, app], limit: 10, window: 60s }", "count by client"),
        ("serves: [keys]", "{ name: a, per: [client], limit: 10, window: 60s }", "no dialect is served"),
        (
            "serves: [vouch]",
            "{ name: a, per: [client], limit: 1, window: 1s }, { name: a, per: [client], limit: 2, window: 2s }",
            "the same name"
        ),
    ])
    func `a listener's limit that could count nothing is a problem`(_ serves: String, _ rules: String, _ words: String)
    {
        let problems = Self.problems(Self.listener("\(serves)\n    limits: [\(rules)]"))
        #expect(problems.count == 1)
        #expect(problems.first.map { "\($0)".contains(words) } == true, "\(problems)")
    }

    private static func windows(_ count: Int) -> String {
        "limits: [\((0..<count).map { "{ name: w\($0), per: [client], limit: 10, window: 60s }" }.joined(separator: ", "))]"
    }

    @Test func `one call counts in sixteen windows and not in seventeen`() throws {
        let onListener = "serves: [vouch]\n    "
        #expect(try Self.load(Self.listener(onListener + Self.windows(16))).listeners[0].limits.count == 16)
        #expect(try Self.load(Self.good + "    " + Self.windows(16) + "\n").routes[0].limits.count == 16)
        for text in [Self.listener(onListener + Self.windows(17)), Self.good + "    " + Self.windows(17) + "\n"] {
            let problems = Self.problems(text)
            #expect(problems.count == 1)
            #expect(problems.first.map { "\($0)".contains("at most 16 limits") } == true, "\(problems)")
        }
    }

    @Test(arguments: [
        ("appengine", "{ guest: /v1/guest }", [] as [String]),
        ("offlineid", "{ send_code: /v1/s, verify: /v1/v, guest: /v1/g, refresh: /v1/r }", []),
        ("appengine", "{ guest: /v1/guest, verify: /v1/v, refresh: /v1/r }", ["verify", "refresh"]),
        ("vouch", "{ verify: /v1/v }", ["nobody signs in"]),
    ])
    func `a route names no sign-in path that its dialect does not have`(
        _ dialect: String,
        _ signIn: String,
        _ words: [String]
    ) {
        let problems = Self.problems(Self.good + "    dialect: \(dialect)\n    sign_in: \(signIn)\n")
        #expect(problems.count == words.count, "\(problems)")
        for (problem, word) in zip(problems, words) { #expect("\(problem)".contains(word), "\(problem)") }
    }

    @Test func `paths start at the folder of the file and hosts are in lower case`() throws {
        let configuration = try Self.load(Self.good)
        guard case .tls(let tls) = configuration.listeners[0].traffic else {
            Issue.record("the listener ends TLS")
            return
        }
        #expect(tls.certificates[0].certificate == "/etc/sallyport/a.pem")
        #expect(tls.fallback == 0)
        #expect(configuration.routes[0].match.hosts == ["api.example.com"])
        #expect(
            configuration.routes[0].access
                == .restricted(
                    AccessRules(
                        organizations: .only([OrganizationID(rawValue: "acme")]),
                        credentials: CredentialKinds([.origin, .apiKey])
                    )
                )
        )
    }

    @Test func `a route overrides its upstream's deadlines one by one`() throws {
        let text = Self.good.replacing(
            "    upstream: api\n",
            with: "    upstream: api\n    timeouts: { first_byte: 500ms }\n"
        )
        let route = try Self.load(text).routes[0]
        #expect(route.timeouts.firstByte == .milliseconds(500))
        #expect(route.timeouts.connect == .seconds(2))
    }

    @Test func `ten different mistakes are named at once with their lines`() {
        let text = """
            version: 2
            workers: many
            listeners:
              - address: 0.0.0.0:99999
                tls: { certificates: [{ cert: nowhere.pem, key: nowhere.key }] }
            metrics: { adress: 127.0.0.1:9464 }
            state: { redis: embeded, serve_stale: 30 parsecs }
            upstreams:
              api: { endpoints: [ftp://127.0.0.1:9000] }
            routes:
              - name: api
                match: { path: v1 }
                upstream: apj
                access: { organizations: [acme], credentials: [api_keys] }
              - name: naked
                match: { path: /naked }
                upstream: api

            """
        let problems: [ConfigurationProblem]
        do throws(ConfigurationProblems) {
            _ = try Self.load(text, check: CertificateFiles.check)
            problems = []
        } catch {
            problems = error.problems
        }
        let lines = problems.map(\.line)
        #expect(lines == lines.sorted())
        for (line, word) in [
            (1, "version"), (2, "workers"), (4, "99999"), (5, "nowhere"), (6, "adress"), (7, "embeded"),
            (7, "serve_stale"), (9, "ftp"), (12, "v1"), (13, "apj"), (14, "api_keys"), (15, "access"),
        ] {
            #expect(
                problems.contains { $0.line == line && $0.description.contains(word) },
                "line \(line): \(word)\n\(ConfigurationProblems(problems))"
            )
        }
        for hint in ["address", "embedded", "api", "api_key"] {
            #expect(problems.contains { $0.hint == hint }, "\(hint)")
        }
    }

    @Test(arguments: [
        ("", "empty"), ("- 1", "a section"), ("version: 1\nversion: 1", "second time"), ("a: &x [*x]", "anchors"),
        ("version: !!int 1", "tags"), ("routes: {{", "not YAML"), ("? [a]\n: b", "plain word"),
        ("a\n---\nb", "one document"),
    ])
    func `a text that is no configuration is a plain problem`(text: String, word: String) {
        #expect(Self.problems(text).contains { $0.expectation.contains(word) })
    }

    @Test(arguments: [
        ("    access: { organizations: [acme], credentials: [origin, api_key] }\n", "", "\"access\" is missing"),
        ("organizations: [acme], ", "", "\"organizations\" is missing"),
        ("credentials: [origin, api_key]", "credentials: []", "at least 1"),
        ("credentials: [origin, api_key]", "credentials: [persons]", "one of origin"),
        ("version: 1\n", "version: 1\ntokens: { algorithm: RS256 }\n", "ES256, EdDSA"),
        ("version: 1\n", "version: 1\ntokens: { hand_off: 301s }\n", "a duration"),
        ("version: 1\n", "version: 1\ntokens: { app_life: 4s }\n", "a duration"),
        ("version: 1\n", "version: 1\ntokens: { app_life: 3601s }\n", "a duration"),
        ("version: 1\n", "version: 1\ntokens: { leeway: 6m }\n", "a duration"),
        ("api_key] }", "api_key], min_trust: degraded }", "no effect"),
        ("organizations: [acme]", "organizations: every", "any, or a list"),
        ("path: /v1/", "path: /v1/../x", "a path that begins"),
        ("path: /v1/", "path: /v1/, methods: [get]", "method in capitals"),
        ("default: a.pem", "default: b.pem", "one of the certificates"),
        ("default: a.pem", "default: a.pem, protocols: [h3]", "one of h2, http/1.1"),
        ("http://127.0.0.1:9000]", "http://127.0.0.1:9000], tls: { verify: false }", "no endpoint is https"),
        ("http://127.0.0.1:9000]", "127.0.0.1:9000]", "http://host:port"),
        ("version: 1\n", "version: 1\nmetrics: { address: 127.0.0.1:8443 }\n", "used twice"),
        ("version: 1\n", "version: 1\nadmin: { address: 127.0.0.1:1 }\n", "needs tls"),
        ("version: 1\n", "version: 1\nstate: { redis: redis://:pw@h }\n", "redis_password"),
        ("version: 1\n", "version: 1\nstate: { redis_user: x }\n", "embedded"),
        ("version: 1\n", "version: 1\ntimeouts: { header: 5 }\n", "a duration"),
        ("version: 1\n", "version: 1\nhttp: { body: 1MB }\n", "a size"),
        ("version: 1\n", "version: 1\nhttp: { fields: 251 }\n", "10 to 250"),
        ("version: 1\n", "version: 1\nlog: { level: debug }\n", "info, warning, error"),
        ("version: 1\n", "version: 1\nclient_address: { trusted_proxies: [10.0.0.0/33] }\n", "an address range"),
    ])
    func `a wrong value is refused and says what is expected`(old: String, new: String, word: String) {
        let text = Self.good.replacing(old, with: new)
        #expect(text != Self.good)
        let problems = Self.problems(text)
        #expect(problems.contains { $0.expectation.contains(word) }, "\(ConfigurationProblems(problems))")
    }

    @Test(arguments: [
        ("limits: [{ name: a, per: [app], limit: 5, window: 60s, cost: 6 }]", "larger than limit"),
        ("limits: [{ name: a, per: [app, app], limit: 5, window: 60s }]", "twice"),
        ("limits: [{ name: a, per: [user], limit: 5, window: 60s }]", "one of organization"),
        ("limits: [{ name: a, per: [app], limit: 5, window: 500ms }]", "a duration from 1s"),
        ("request_headers: { set: { Host: x } }", "own business"),
        ("request_headers: { set: { X-A: b }, remove: [x-a] }", "both set and removed"),
        ("response_headers: { set: { Sallyport-App: x } }", "own business"),
        ("response_headers: { set: { \"a b\": x } }", "name of an HTTP field"),
        ("clients: { deny: [localhost] }", "an address range"),
        ("paths: sometimes", "one of raw, reject, normalise"),
        ("forward: { authorization: drop }", "one of keep, strip"),
        ("websocket: maybe", "true or false"),
    ])
    func `a wrong part of a route is refused`(line: String, word: String) {
        let problems = Self.problems(
            Self.good.replacing("    upstream: api\n", with: "    upstream: api\n    \(line)\n")
        )
        #expect(problems.contains { $0.expectation.contains(word) }, "\(ConfigurationProblems(problems))")
    }

    @Test func `two routes for the same requests are a problem`() {
        let second = "  - { name: b, match: { hosts: [api.example.com], path: /v1 }, upstream: api, access: open }\n"
        #expect(Self.problems(Self.good + second).contains { $0.expectation.contains("same requests as api") })
        let other = "  - { name: b, match: { hosts: [api.example.com], path: /v2 }, upstream: api, access: open }\n"
        #expect(Self.problems(Self.good + other).isEmpty)
    }

    @Test func `an open route has no app to count by`() {
        let limit = "limits: [{ name: a, per: [app], limit: 5, window: 60s }]"
        let route = "  - { name: b, match: { path: /b }, upstream: api, access: open, \(limit) }\n"
        #expect(Self.problems(Self.good + route).contains { $0.expectation.contains("open route") })
        #expect(Self.problems(Self.good + route.replacing("[app]", with: "[client]")).isEmpty)
    }

    @Test func `a secret comes from the environment and is never repeated`() throws {
        let text = "secrets: { pepper: \"${env:PEPPER}\" }\n" + Self.good
        let pepper = String(repeating: "p", count: 32)
        let secrets = try Self.load(text, environment: ["PEPPER": pepper]).secrets
        #expect(secrets.pepper?.bytes == Array(pepper.utf8))
        #expect("\(secrets)".contains("ppp") == false)
        #expect(Self.problems(text).contains { $0.expectation.contains("PEPPER is not set") })
        #expect(Self.problems(text, environment: ["PEPPER": "short"]).contains { $0.expectation.contains("32 bytes") })
        let clear = Self.problems("secrets: { pepper: in-the-clear }\n" + Self.good)
        #expect(!clear.isEmpty)
        #expect(!ConfigurationProblems(clear).description.contains("in-the-clear"))
    }

    @Test func `issuers are read with the rules of RFC 8725`() throws {
        let issuer = """
            issuers:
              - name: users
                issuer: https://login.example.com/
                audiences: [api]
                keys: { jwks_url: https://login.example.com/keys }
                algorithms: [ES256, RS256]
                organizations: [acme]
                kind: person

            """
        let settings = try Self.load(issuer + Self.good).issuers[0]
        #expect(settings.algorithms == [.es256, .rs256])
        #expect(settings.personClaim == "sub")
        for (old, new, word) in [
            ("[ES256, RS256]", "[HS256]", "needs keys.hs256"), ("[ES256, RS256]", "[none]", "one of HS256"),
            ("https://login.example.com/keys", "http://login.example.com/keys", "https://"),
            ("kind: person", "kind: app", "claims.app"), ("[acme]", "[]", "at least 1"),
            ("{ jwks_url", "{ jwks_file: x, jwks_url", "exactly one"),
        ] {
            let problems = Self.problems(issuer.replacing(old, with: new) + Self.good)
            #expect(problems.contains { $0.expectation.contains(word) }, "\(ConfigurationProblems(problems))")
        }
    }
}
