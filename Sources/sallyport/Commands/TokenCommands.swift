// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// Tokens: revoked, made for trying out, looked at.
enum TokenCommands {
    static let all: [Command] = [
        Command(
            words: ["tokens", "revoke"],
            summary: "refuse one token by its id, or all of somebody that were issued before a moment",
            operands: [Operand(name: "ID", help: "the token's id, its jti", isOptional: true)],
            options: [
                Option(name: "--app", value: "APP", help: "all of an app; beside an ID, whose history tells of it"),
                Option(name: "--person", value: "P", help: "all of a person of --org"),
                Option(name: "--org", value: "ORG", help: "the person's organization"),
                Option(name: "--key", value: "KEY", help: "all that were made on the strength of an API key"),
                Option(name: "--device", value: "D", help: "all of a device of --app"),
                Option(
                    name: "--before",
                    value: "T",
                    help: "issued before, as 2026-09-17T11:18:57Z; now when not given"
                ),
                Option(name: "--expires", value: "T", help: "when the token of ID ends; else kept for 31 days"),
            ] + Option.changing,
            notes:
                "Ends with 1 unless every worker of every node has applied it in time; then it says when it is in force.",
            run: revoke
        ),
        Command(
            words: ["token", "mint"],
            summary: "make a token of an app for trying out; the history tells of it",
            options: [
                .app,
                Option(name: "--kind", value: "K", help: "server_token when not given; app_token, web_token, …"),
                Option(name: "--minutes", value: "N", help: "its life, 1 to 60; 15 when not given"),
                Option(name: "--dialect", value: "D", help: "one of the app's; the first when not given"),
                Option(name: "--trust", value: "T", help: "hardware, degraded or development"),
                Option(name: "--person", value: "P", help: "the person it is for"),
            ] + Option.remote,
            run: mint
        ),
        Command(
            words: ["tokens", "inspect"],
            summary: "say what a token claims and what the gateway thinks of it",
            operands: [
                Operand(name: "TOKEN", help: "the token; - or nothing: read from standard input", isOptional: true)
            ],
            options: Option.remote,
            notes: "A token on the command line can be seen by others of this machine: standard input is better.",
            run: inspect
        ),
    ]

    @Sendable private static func revoke(_ invocation: Invocation) throws(CommandFailure) {
        let names = [
            ("--app", "app"), ("--person", "person"), ("--org", "organization"), ("--key", "key"),
            ("--device", "device"), ("--before", "before"), ("--expires", "expires_at"),
        ]
        var members: [(String, JSONValue)] = []
        for (option, member) in names {
            if let value = invocation[option] { members.append((member, .string(value))) }
        }
        if let id = invocation.operands.first { members.append(("token_id", .string(id))) }
        let whom = ["--app", "--person", "--key", "--device"]
        guard !invocation.operands.isEmpty || whom.contains(where: invocation.has) else {
            throw .usage("whose tokens? give an ID, --app, --person, --key or --device", seeHelpOf: "tokens revoke")
        }
        let answer = try RemoteGateway(for: invocation).call("POST", "/tokens/revoke", .members(members))
        try Change.showRevoking(answer, for: invocation)
    }

    @Sendable private static func mint(_ invocation: Invocation) throws(CommandFailure) {
        var members: [(String, JSONValue)] = []
        for (option, member) in [
            ("--kind", "kind"), ("--dialect", "dialect"), ("--trust", "trust"), ("--person", "person"),
        ] {
            if let value = invocation[option] { members.append((member, .string(value))) }
        }
        if let minutes = try invocation.integer("--minutes", in: 1...60) {
            members.append(("minutes", .number(JSONNumber(minutes))))
        }
        let target = "/apps/\(try invocation.app().asPathSegment)/tokens"
        let answer = try RemoteGateway(for: invocation).call("POST", target, .members(members))
        Output.show(answer, for: invocation) { answer in
            "\(answer.text("token"))\n\n  \(answer.text("kind")), id \(answer.text("token_id")),"
                + " until \(answer.text("expires_at"))\n"
        }
    }

    @Sendable private static func inspect(_ invocation: Invocation) throws(CommandFailure) {
        var token = invocation.operands.first ?? "-"
        if token == "-" { token = try input() }
        let body = JSONValue.members([("token", .string(token))])
        let answer = try RemoteGateway(for: invocation).call("POST", "/tokens/inspect", body)
        Output.show(answer, for: invocation) { answer in
            var text = "\(answer.text("verdict")): \(answer.text("message"))\n"
            text += HelpText.columns(
                ["reason", "kind", "issuer", "trust", "person", "token_id", "issued_at", "expires_at"]
                    .filter { answer.text($0) != "-" }.map { ($0, answer.text($0)) }
            )
            for part in ["header", "claims"] { text += "\n\(part)\n" + lines(answer[part] ?? .null) }
            return text
        }
        guard answer["verdict"]?.string == "good" else {
            throw CommandFailure.told
        }
    }

    private static func lines(_ value: JSONValue) -> String {
        guard let members = value.object?.members else { return "  cannot be read\n" }
        return HelpText.columns(
            // Whoever made the token chose these.
            members.map { member in
                let value = member.value.string ?? String(Output.json(member.value).dropLast())
                return (Output.visible(member.name), Output.visible(value))
            }
        )
    }

    private static func input() throws(CommandFailure) -> String {
        guard case .success(let bytes) = Files.readForPerson("/dev/stdin", limit: 65_536) else {
            throw .usage("no token on standard input", seeHelpOf: "tokens inspect")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return String(text.split(whereSeparator: \.isWhitespace).joined(separator: " "))
    }
}

/// An app's secret: what its servers sign in with.
enum SecretCommands {
    static let all: [Command] = [
        Command(
            words: ["secret", "rotate"],
            summary: "make an app's secret anew and show it once; the old one stops at once",
            options: [.app] + Option.changing,
            run: rotate
        )
    ]

    @Sendable private static func rotate(_ invocation: Invocation) throws(CommandFailure) {
        let target = "/apps/\(try invocation.app().asPathSegment)/secret/rotate"
        let answer = try RemoteGateway(for: invocation).call("POST", target)
        Output.show(answer, for: invocation) { answer in
            "\(answer.text("secret"))\n\n  Keep it now: it is not stored and cannot be shown again.\n  "
                + Change.line(answer)
        }
        guard answer["confirmed"]?.bool != false else { throw CommandFailure.told }
    }
}
