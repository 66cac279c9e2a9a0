// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Testing

@testable import Gateway

@Suite struct AdminRequestTests {
    private func read(_ path: String, query: String = "", body: String = "") -> Result<AdminRequest, AdminProblem> {
        AdminRequest.read(
            SmallRequest(method: "GET", path: path, query: query, body: Array(body.utf8), by: "root")
        )
    }

    @Test func `segments and query are decoded after they are split`() throws {
        let request = try read("/admin/v1/apps/a%2Fb/origins/https%3A%2F%2Fx", query: "event=a%26b&limit=3").get()
        #expect(request.path == ["apps", "a/b", "origins", "https://x"])
        #expect(request.query == ["event": "a&b", "limit": "3"])
    }

    @Test func `a query that says something twice is refused`() throws {
        #expect(try read("/admin/v1/apps", query: "a=1&b=1").get().query == ["a": "1", "b": "1"])
        for query in ["a=1&a=2", "a=1&a=1", "a&%61"] {
            guard case .failure(let problem) = read("/admin/v1/apps", query: query) else {
                Issue.record("\(query) was taken")
                continue
            }
            #expect(problem.status == 400)
        }
    }

    @Test(arguments: ["/", "/admin", "/admin/v2/apps", "/apps"])
    func `nothing outside the prefix is found`(path: String) {
        guard case .failure(let problem) = read(path) else {
            Issue.record("\(path) was taken")
            return
        }
        #expect(problem.status == 404)
    }

    @Test(arguments: ["%", "%4", "%zz", "%ff"])
    func `a malformed escape is refused`(segment: String) {
        guard case .failure(let problem) = read("/admin/v1/apps/\(segment)") else {
            Issue.record("\(segment) was taken")
            return
        }
        #expect(problem.status == 400)
    }

    @Test func `a body that is no JSON is refused, an absent one is an empty object`() throws {
        #expect(try read("/admin/v1/apps").get().body == .object(JSONObject()))
        guard case .failure(let problem) = read("/admin/v1/apps", body: "{") else {
            Issue.record("half an object was taken")
            return
        }
        #expect(problem.status == 400)
    }

    @Test func `a text member must be a text`() throws {
        let request = try read("/admin/v1/apps", body: #"{"name": 1, "list": ["a", 2], "flag": "yes"}"#).get()
        #expect(throws: AdminProblem.self) { try request.text("name") }
        #expect(throws: AdminProblem.self) { try request.text("missing") }
        #expect(throws: AdminProblem.self) { try request.texts("list") }
        #expect(throws: AdminProblem.self) { try request.flag("flag") }
    }
}

@Suite struct OriginReadingTests {
    @Test func `each step that changes something is told`() {
        let reading = OriginReading(" HTTPS://Shop.Example.com.:443/a?b ")
        #expect(
            reading.steps.map(\.result) == [
                " HTTPS://Shop.Example.com.:443/a?b ", "HTTPS://Shop.Example.com.:443/a?b",
                "HTTPS://Shop.Example.com.:443", "https://shop.example.com.:443", "https://shop.example.com:443",
                "https://shop.example.com", "https://shop.example.com",
            ]
        )
        #expect(reading.outcome == .success("https://shop.example.com"))
    }

    @Test(arguments: ["null", "ftp://a", "https://*.a.example", "https://u:p@a.example", ""])
    func `what cannot be an origin has a reason`(text: String) {
        guard case .failure(let problem) = OriginReading(text).outcome else {
            Issue.record("\(text) was read")
            return
        }
        let sentence: String = problem.sentence
        #expect(sentence != "")
    }
}

@Suite struct NewNamesTests {
    @Test(arguments: [("My App", "my-app"), ("  Ünï x", "n-x"), ("web", "web"), ("a--b!", "a--b")])
    func `a username is made from a name`(name: String, username: String) {
        #expect(NewNames.username(from: name) == username)
    }

    @Test func `ids have their form and differ`() {
        let ids = (0..<100).map { _ in NewNames.appID() }
        #expect(Set(ids).count == 100)
        #expect(ids.allSatisfy { AppIDForm.isRight($0) })
        let digits = NewNames.recordID().rawValue.utf8.filter(\.isLowerHex)
        #expect(digits.count == 24)
    }

    @Test(
        arguments: [
            ("AB:CD" + String(repeating: ":00", count: 30), true), (String(repeating: "ab", count: 32), true),
            (String(repeating: "ab", count: 31), false), (String(repeating: "xy", count: 32), false),
        ]
    )
    func `a fingerprint is 64 digits with or without colons`(text: String, isRight: Bool) {
        #expect((NativeNames.fingerprint(text) != nil) == isRight)
    }
}

private enum AppIDForm {
    static func isRight(_ text: String) -> Bool { text.hasPrefix("app_") && text.utf8.count == 20 }
}
