// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// `mcp serve`: the native switches as tools of the Model Context Protocol, over standard input and output.
enum MCPCommands {
    static let all: [Command] = [
        Command(
            words: ["mcp", "serve"],
            summary: "offer an app's native switches as MCP tools on standard input and output",
            options: [.app, .config],
            notes: "Each tool also takes \"app\". Whoever may open the admin socket may use them; there is no login.",
            run: serve
        )
    ]

    @Sendable private static func serve(_ invocation: Invocation) throws(CommandFailure) {
        let gateway = try RemoteGateway(for: invocation)
        let app = invocation.appAtHand ?? ""
        let server = MCPServer(app: app) { call throws(CommandFailure) in
            try gateway.call(call.method, call.target, call.body)
        }
        while let line = readLine(strippingNewline: true) {
            guard let answer = server.answer(to: line) else { continue }
            Terminal.print(Output.json(answer))
        }
    }
}

/// One tool: what it is called, what it takes, and which request of the admin API it is.
struct MCPTool: Sendable {
    /// A request of the admin API.
    struct Call: Equatable, Sendable {
        let method: String
        let target: String
        var body: JSONValue?
    }

    enum Kind: Sendable {
        case boolean
        case integer(ClosedRange<Int>)
    }

    let name: String
    let help: String
    let parameters: [(name: String, kind: Kind, isRequired: Bool)]
    /// The request for an app (its path segment) with checked arguments.
    let call: @Sendable (String, JSONValue) -> Call

    static let all: [MCPTool] = [
        MCPTool(
            name: "set_development_mode",
            help: "Accept sign-ins without an attestation for some hours (24 when not given), or end that at once.",
            parameters: [("enabled", .boolean, true), ("hours", .integer(1...72), false)],
            call: { app, arguments in
                let isOn = arguments["enabled"]?.bool == true
                let hours = JSONValue.number(JSONNumber(arguments["hours"]?.integer ?? 24))
                let body = [("enabled", JSONValue.bool(isOn))] + (isOn ? [("hours", hours)] : [])
                return Call(method: "PUT", target: "/apps/\(app)/development-mode", body: .members(body))
            }
        ),
        MCPTool(
            name: "set_production",
            help: "Mark the app production, which ends development mode, or take the mark away.",
            parameters: [("enabled", .boolean, true)],
            call: { app, arguments in
                Call(method: "PUT", target: "/apps/\(app)/production", body: arguments.only("enabled"))
            }
        ),
        MCPTool(
            name: "set_android_degraded",
            help: "Let Android phones that cannot prove their state fully sign in, or refuse them.",
            parameters: [("allow", .boolean, true)],
            call: { app, arguments in
                Call(method: "PUT", target: "/apps/\(app)/android-degraded", body: arguments.only("allow"))
            }
        ),
        MCPTool(
            name: "attestation_history",
            help: "What was changed, by whom and when, newest first.",
            parameters: [("limit", .integer(1...1000), false)],
            call: { app, arguments in
                Call(method: "GET", target: "/apps/\(app)/history?limit=\(arguments["limit"]?.integer ?? 50)")
            }
        ),
    ]

    /// What MCP calls the input schema.
    var schema: JSONValue {
        var properties: [(String, JSONValue)] = [
            ("app", .members([("type", .string("string")), ("description", .string("App ID, record id or username"))]))
        ]
        for parameter in parameters {
            switch parameter.kind {
            case .boolean: properties.append((parameter.name, .members([("type", .string("boolean"))])))
            case .integer(let range):
                let bounds = [("minimum", range.lowerBound), ("maximum", range.upperBound)]
                properties.append(
                    (
                        parameter.name,
                        .members([("type", .string("integer"))] + bounds.map { ($0.0, .number(JSONNumber($0.1))) })
                    )
                )
            }
        }
        let required = parameters.filter(\.isRequired).map { JSONValue.string($0.name) }
        return .members([
            ("type", .string("object")), ("properties", .members(properties)), ("required", .array(required)),
            ("additionalProperties", .bool(false)),
        ])
    }

    /// What is wrong with `arguments`, or nil.
    func fault(in arguments: JSONValue) -> String? {
        guard let members = arguments.object?.members else { return "the arguments are an object" }
        for member in members where member.name != "app" && !parameters.contains(where: { $0.name == member.name }) {
            return "\(name) takes no \"\(member.name)\""
        }
        if let app = arguments["app"], app.string == nil { return "\"app\" is a text" }
        for parameter in parameters {
            guard let value = arguments[parameter.name] else {
                if parameter.isRequired { return "\(name) needs \"\(parameter.name)\"" }
                continue
            }
            switch parameter.kind {
            case .boolean where value.bool == nil: return "\"\(parameter.name)\" is true or false"
            case .integer(let range) where value.integer.map(range.contains) != true:
                return "\"\(parameter.name)\" is a whole number from \(range.lowerBound) to \(range.upperBound)"
            default: continue
            }
        }
        return nil
    }
}

extension JSONValue {
    /// An object with nothing but the member `name` of this one.
    fileprivate func only(_ name: String) -> JSONValue { .members([(name, self[name] ?? .null)]) }
}
