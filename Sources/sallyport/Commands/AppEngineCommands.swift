// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// Debug tokens of an app: how simulators, emulators and CI sign in.
enum DebugTokenCommands {
    static let all: [Command] = [
        allow("on", "take debug tokens", true), allow("off", "refuse every debug token at once", false),
        Command(
            words: ["debug-tokens", "create"],
            summary: "make a debug token; it is shown once",
            options: [.app, Option(name: "--name", value: "NAME", help: "what it is for", isRequired: true)]
                + Option.remote,
            run: create
        ),
        Command(
            words: ["debug-tokens", "list"],
            summary: "list debug tokens, when they were made and last used",
            options: [.app] + Option.remote,
            run: list
        ),
        Command(
            words: ["debug-tokens", "delete"],
            summary: "refuse a debug token at once",
            operands: [Operand(name: "ID", help: "as the list shows it")],
            options: [.app] + Option.changing,
            run: delete
        ),
    ]

    private static func allow(_ word: String, _ summary: String, _ allows: Bool) -> Command {
        Command(words: ["debug-tokens", "allow", word], summary: summary, options: [.app] + Option.changing) {
            invocation throws(CommandFailure) in
            let target = "/apps/\(try invocation.app().asPathSegment)/debug-tokens"
            let answer = try RemoteGateway(for: invocation).call("PUT", target, .members([("allowed", .bool(allows))]))
            try Change.showRevoking(answer, for: invocation)
        }
    }

    @Sendable private static func create(_ invocation: Invocation) throws(CommandFailure) {
        let target = "/apps/\(try invocation.app().asPathSegment)/debug-tokens"
        let body = JSONValue.members([("name", .string(invocation["--name"] ?? ""))])
        Output.show(try RemoteGateway(for: invocation).call("POST", target, body), for: invocation) { answer in
            "\(answer.text("token"))\n\(answer.text("id")): shown this once; keep it where the build reads it\n"
        }
    }

    @Sendable private static func list(_ invocation: Invocation) throws(CommandFailure) {
        let target = "/apps/\(try invocation.app().asPathSegment)/debug-tokens"
        Output.show(try RemoteGateway(for: invocation).call("GET", target), for: invocation) { answer in
            var text = answer["allowed"]?.bool == true ? "taken\n" : "refused: sallyport debug-tokens allow on\n"
            text += HelpText.columns(
                answer.items("debug_tokens").map { token in
                    let used = token["lastUsedAt"]?.string ?? "never"
                    return (token.text("id"), "\(token.text("prefix"))…  \(token.text("name")), last used \(used)")
                }
            )
            return text
        }
    }

    @Sendable private static func delete(_ invocation: Invocation) throws(CommandFailure) {
        let app = try invocation.app().asPathSegment
        let target = "/apps/\(app)/debug-tokens/\(invocation.operands[0].asPathSegment)"
        try Change.showRevoking(RemoteGateway(for: invocation).call("DELETE", target), for: invocation)
    }
}

/// The iOS installs of an app, which their App Attest keys name.
enum DeviceCommands {
    private static let device = Operand(name: "ID", help: "as the list shows it")

    static let all: [Command] = [
        Command(
            words: ["devices", "list"],
            summary: "list iOS installs by their App Attest keys",
            options: [.app] + Option.remote,
            run: list
        ),
        command("block", "refuse the next sign-in of an install"),
        command("unblock", "let an install sign in again"),
    ]

    private static func command(_ verb: String, _ summary: String) -> Command {
        Command(words: ["devices", verb], summary: summary, operands: [device], options: [.app] + Option.changing) {
            invocation throws(CommandFailure) in
            let app = try invocation.app().asPathSegment
            let target = "/apps/\(app)/devices/\(invocation.operands[0].asPathSegment)/\(verb)"
            try Change.showRevoking(RemoteGateway(for: invocation).call("POST", target), for: invocation)
        }
    }

    @Sendable private static func list(_ invocation: Invocation) throws(CommandFailure) {
        let target = "/apps/\(try invocation.app().asPathSegment)/devices"
        Output.show(try RemoteGateway(for: invocation).call("GET", target), for: invocation) { answer in
            let rows = answer.items("devices").map { device in
                let state = device["blocked"]?.bool == true ? "blocked, " : ""
                return (device.text("id"), "\(state)\(device.text("environment")), seen \(device.text("seen_at"))")
            }
            return rows.isEmpty ? "no installs\n" : HelpText.columns(rows)
        }
    }
}

/// How often an app signed in, and why it was refused.
enum SignInCommands {
    static let all: [Command] = [
        Command(
            words: ["sign-ins"],
            summary: "count the sign-ins of 30 days by method",
            options: [.app, Option(name: "--days", value: "N", help: "only the latest, 1 to 30")] + Option.remote,
            run: signIns
        ),
        Command(
            words: ["failures"],
            summary: "list the 20 latest refused sign-ins",
            options: [.app] + Option.remote,
            run: failures
        ),
    ]

    @Sendable private static func signIns(_ invocation: Invocation) throws(CommandFailure) {
        let days = try invocation.integer("--days", in: 1...30) ?? 30
        let target = "/apps/\(try invocation.app().asPathSegment)/sign-ins?days=\(days)"
        Output.show(try RemoteGateway(for: invocation).call("GET", target), for: invocation) { answer in
            let rows = answer.items("days").map { day in
                let counts = ["secret", "ios", "android", "debug", "web", "failed"]
                    .map { "\($0) \(day[$0]?.integer ?? 0)" }
                return (day.text("date"), counts.joined(separator: ", "))
            }
            return rows.isEmpty ? "no sign-ins in \(days) days\n" : HelpText.columns(rows)
        }
    }

    @Sendable private static func failures(_ invocation: Invocation) throws(CommandFailure) {
        let target = "/apps/\(try invocation.app().asPathSegment)/failures"
        Output.show(try RemoteGateway(for: invocation).call("GET", target), for: invocation) { answer in
            let rows = answer.items("failures").map { ($0.text("at"), "\($0.text("platform")) \($0.text("reason"))") }
            return rows.isEmpty ? "no refused sign-ins\n" : HelpText.columns(rows)
        }
    }
}
