// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Testing

@testable import sallyport

@Suite struct MCPServerTests {
    private static let refusal = CommandFailure(
        exit: .refused,
        code: "application_is_production",
        message: "no",
        nextSteps: ["sallyport production off"]
    )

    /// A server whose gateway answers with the request that it was asked.
    private let server = MCPServer(app: "app_1") { call throws(CommandFailure) in
        .members([
            ("method", .string(call.method)), ("target", .string(call.target)), ("body", call.body ?? .null),
        ])
    }

    private func answer(_ line: String, of server: MCPServer? = nil) -> String {
        guard let answer = (server ?? self.server).answer(to: line) else { return "" }
        return Output.json(answer)
    }

    private func call(_ tool: String, _ arguments: String, of server: MCPServer? = nil) -> String {
        answer(
            #"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\#(tool)","arguments":\#(arguments)}}"#,
            of: server
        )
    }

    @Test func `a client is greeted in its own version, or in ours where that is unknown`() {
        for (wanted, given) in [("2024-11-05", "2024-11-05"), ("2026-01-01", "2025-06-18")] {
            let line = #"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"\#(wanted)"}}"#
            #expect(answer(line).contains(#""protocolVersion":"\#(given)""#))
        }
    }

    @Test func `all tools are listed with what they take`() {
        let list = answer(#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#)
        for name in ["set_development_mode", "set_production", "set_android_degraded", "attestation_history"] {
            #expect(list.contains(#""name":"\#(name)""#))
        }
        #expect(list.contains(#""required":["enabled"]"#))
        #expect(list.contains(#""maximum":72"#))
    }

    @Test(arguments: [
        (
            "set_development_mode", #"{"enabled":true,"hours":24}"#, "PUT", "development-mode",
            #"{"enabled":true,"hours":24}"#
        ),
        ("set_development_mode", #"{"enabled":false}"#, "PUT", "development-mode", #"{"enabled":false}"#),
        ("set_production", #"{"enabled":true}"#, "PUT", "production", #"{"enabled":true}"#),
        ("set_android_degraded", #"{"allow":false}"#, "PUT", "android-degraded", #"{"allow":false}"#),
        ("attestation_history", #"{"limit":3}"#, "GET", "history?limit=3", "null"),
    ])
    func `a tool is a request of the admin API`(tool: String, given: String, method: String, path: String, body: String)
    {
        let text = call(tool, given)
        #expect(
            text.contains(
                #""structuredContent":{"method":"\#(method)","target":"/apps/app_1/\#(path)","body":\#(body)}"#
            )
        )
        #expect(text.contains(#""isError":false"#))
    }

    @Test func `a tool may be about another app`() {
        #expect(call("set_production", #"{"enabled":true,"app":"a/b"}"#).contains("/apps/a%2Fb/production"))
    }

    @Test(arguments: [
        ("set_development_mode", "{}", "needs"), ("set_development_mode", #"{"enabled":"yes"}"#, "true or false"),
        ("set_development_mode", #"{"enabled":true,"hours":73}"#, "1 to 72"),
        ("set_development_mode", #"{"enabled":true,"hours":1.5}"#, "1 to 72"),
        ("set_production", #"{"enabled":true,"force":true}"#, "takes no"), ("set_production", "[]", "an object"),
        ("set_production", #"{"enabled":true,"app":1}"#, "a text"), ("delete_everything", "{}", "no such tool"),
    ])
    func `wrong arguments reach no gateway`(tool: String, arguments: String, words: String) {
        let text = call(tool, arguments)
        #expect(text.contains("-32602"))
        #expect(text.contains(words), "\(text)")
    }

    @Test func `without an app a tool has to name one`() {
        let server = MCPServer(app: "") { _ throws(CommandFailure) in .null }
        #expect(call("set_production", #"{"enabled":true}"#, of: server).contains("which app?"))
    }

    @Test func `what the gateway refuses is a result that says so`() {
        let server = MCPServer(app: "app_1") { _ throws(CommandFailure) in throw Self.refusal }
        let text = call("set_development_mode", #"{"enabled":true}"#, of: server)
        #expect(text.contains(#""isError":true"#))
        #expect(text.contains("sallyport production off"))
    }

    @Test(arguments: [
        ("{", "-32700"), (#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "-32600"), ("[]", "-32600"),
        (#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#, "-32601"),
        (#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, #""result":{}"#),
    ])
    func `a line gets its answer`(line: String, words: String) {
        #expect(answer(line).contains(words))
    }

    @Test(arguments: ["", "  ", #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#])
    func `what asks for nothing gets nothing`(line: String) {
        #expect(server.answer(to: line) == nil)
    }
}
