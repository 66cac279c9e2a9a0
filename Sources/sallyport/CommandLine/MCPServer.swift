// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// Answers the lines of one Model Context Protocol client: JSON-RPC 2.0, a message a line.
struct MCPServer {
    /// The app that tools are about unless they name one; empty: they have to.
    let app: String
    /// Asks the gateway.
    let ask: (MCPTool.Call) throws(CommandFailure) -> JSONValue

    /// Versions of the protocol in which what is used here is the same, newest first.
    private static let versions = ["2025-06-18", "2025-03-26", "2024-11-05"]

    private enum Fault: Int {
        case notJSON = -32_700
        case noRequest = -32_600
        case unknownMethod = -32_601
        case badParameters = -32_602
    }

    init(app: String, ask: @escaping (MCPTool.Call) throws(CommandFailure) -> JSONValue) {
        self.app = app
        self.ask = ask
    }

    /// The answer to one line; nil: it asks for none.
    func answer(to line: String) -> JSONValue? {
        guard line.contains(where: { !$0.isWhitespace }) else { return nil }
        let message: JSONValue
        do {
            message = try JSONValue(parsing: Array(line.utf8), limits: .request)
        } catch {
            return Self.fault(.notJSON, "no JSON", id: .null)
        }
        guard message["jsonrpc"]?.string == "2.0", let method = message["method"]?.string else {
            return Self.fault(.noRequest, "no JSON-RPC 2.0 request", id: message["id"] ?? .null)
        }
        // A notification is never answered.
        guard let id = message["id"] else { return nil }
        let parameters = message["params"] ?? .members([])
        switch method {
        case "initialize": return Self.result(hello(parameters), id: id)
        case "ping": return Self.result(.members([]), id: id)
        case "tools/list": return Self.result(.members([("tools", .array(MCPTool.all.map(Self.describe)))]), id: id)
        case "tools/call": return call(parameters, id: id)
        default: return Self.fault(.unknownMethod, "there is no method \"\(method)\"", id: id)
        }
    }

    private func hello(_ parameters: JSONValue) -> JSONValue {
        let wanted = parameters["protocolVersion"]?.string ?? ""
        let version = Self.versions.contains(wanted) ? wanted : Self.versions[0]
        let server = JSONValue.members([("name", .string("sallyport")), ("version", .string(Version.text))])
        return .members([
            ("protocolVersion", .string(version)), ("capabilities", .members([("tools", .members([]))])),
            ("serverInfo", server),
        ])
    }

    private static func describe(_ tool: MCPTool) -> JSONValue {
        .members([
            ("name", .string(tool.name)), ("description", .string(tool.help)), ("inputSchema", tool.schema),
        ])
    }

    /// Runs a tool; what the gateway refuses is a result that says so, as the protocol wants it.
    private func call(_ parameters: JSONValue, id: JSONValue) -> JSONValue {
        guard let name = parameters["name"]?.string, let tool = MCPTool.all.first(where: { $0.name == name }) else {
            return Self.fault(.badParameters, "there is no such tool", id: id)
        }
        let arguments = parameters["arguments"] ?? .members([])
        if let fault = tool.fault(in: arguments) { return Self.fault(.badParameters, fault, id: id) }
        let named = arguments["app"]?.string ?? app
        guard !named.isBlank else {
            return Self.fault(.badParameters, "which app? give \"app\", or start with --app APP", id: id)
        }
        do throws(CommandFailure) {
            return Self.result(content(try ask(tool.call(named.asPathSegment, arguments)), isError: false), id: id)
        } catch {
            let told = JSONValue.members([
                ("error", .string(error.code)), ("message", .string(error.message)),
                ("next_steps", .array(error.nextSteps.map(JSONValue.string))),
            ])
            return Self.result(content(told, isError: true), id: id)
        }
    }

    private func content(_ value: JSONValue, isError: Bool) -> JSONValue {
        var writer = JSONWriter()
        writer.value(value)
        let text = JSONValue.members([("type", .string("text")), ("text", .string(writer.text))])
        return .members([
            ("content", .array([text])), ("structuredContent", value), ("isError", .bool(isError)),
        ])
    }

    private static func result(_ value: JSONValue, id: JSONValue) -> JSONValue {
        .members([("jsonrpc", .string("2.0")), ("id", id), ("result", value)])
    }

    private static func fault(_ fault: Fault, _ words: String, id: JSONValue) -> JSONValue {
        let error = JSONValue.members([("code", .number(JSONNumber(fault.rawValue))), ("message", .string(words))])
        return .members([("jsonrpc", .string("2.0")), ("id", id), ("error", error)])
    }
}
