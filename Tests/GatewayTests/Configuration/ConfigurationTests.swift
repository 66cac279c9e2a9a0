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

    static func listener(_ more: String) -> String {
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
