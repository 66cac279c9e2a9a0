// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Limits
import Testing

@testable import Gateway

extension ConfigurationTests {
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
}
