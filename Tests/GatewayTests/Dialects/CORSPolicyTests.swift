// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Gateway

@Suite struct CORSPolicyTests {
    private func policy(credentials: Bool = false) -> CORSPolicy {
        CORSPolicy(
            allowsCredentials: credentials,
            maxAge: .seconds(600),
            allowHeaders: ["Content-Type", "x-app-id"],
            exposeHeaders: ["retry-after"],
            methods: ["GET", "POST"]
        )
    }

    private func value(_ name: String, _ fields: [HeaderField]) -> String? {
        fields.first { $0.name == name }?.value
    }

    @Test func `a listed origin's preflight gets what it asked for and the route allows`() throws {
        let answer = policy().preflight(
            origin: "https://a.example",
            isListed: true,
            requestedMethod: "POST",
            requestedHeaders: ["X-App-Id", "x-secret"]
        )
        guard case .allowed(let fields) = answer else {
            Issue.record("refused")
            return
        }
        #expect(value("access-control-allow-origin", fields) == "https://a.example")
        #expect(value("access-control-allow-methods", fields) == "GET, POST")
        #expect(value("access-control-allow-headers", fields) == "x-app-id")
        #expect(value("access-control-max-age", fields) == "600")
        #expect(value("access-control-allow-credentials", fields) == nil)
        #expect(value("vary", fields)?.hasPrefix("Origin") == true)
    }

    @Test func `an unlisted page's preflight passes without credentials, so that it can read its refusal`() {
        let answer = policy(credentials: true).preflight(
            origin: "https://a.example",
            isListed: false,
            requestedMethod: "GET",
            requestedHeaders: []
        )
        guard case .allowed(let fields) = answer else {
            Issue.record("refused")
            return
        }
        #expect(value("access-control-allow-credentials", fields) == nil)
        #expect(value("access-control-max-age", fields) == "0")
    }

    @Test(arguments: ["null", "*", "", "https://a.example/path", "file://x"])
    func `what is no page's origin gets no preflight`(_ origin: String) {
        let answer = policy().preflight(origin: origin, isListed: false, requestedMethod: "GET", requestedHeaders: [])
        #expect(answer == .refused)
    }

    @Test func `credentials are allowed by the route's setting only`() {
        let name = "access-control-allow-credentials"
        #expect(value(name, policy().answerFields(origin: "https://a.example")) == nil)
        #expect(value(name, policy(credentials: true).answerFields(origin: "https://a.example")) == "true")
        #expect(value(name, CORSPolicy.refusalFields(origin: "https://a.example")) == nil)
    }

    @Test(arguments: [
        ("https://evil.example", true), ("http://localhost:3000", true), ("null", false), ("*", false), ("", false),
        ("https://a.example, https://b.example", false), ("https://a.example/x", false), ("exp://a.example", false),
        ("https://a.example\r\nx: y", false),
    ])
    func `any http page may read why it was refused, and nothing else is echoed`(origin: String, isEchoed: Bool) {
        let fields = CORSPolicy.refusalFields(origin: origin)
        #expect(value("access-control-allow-origin", fields) == (isEchoed ? origin : nil))
        #expect(value("vary", fields) == "Origin")
    }

    @Test func `the star is never given`() {
        let answers = [policy().answerFields(origin: "https://a.example"), CORSPolicy.refusalFields(origin: "*")]
        #expect(answers.joined().allSatisfy { !$0.value.contains("*") })
    }
}
