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
                    let used = Output.visible(token["lastUsedAt"]?.string ?? "never")
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
