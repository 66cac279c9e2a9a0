// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// API keys: what servers present.
///
/// Each is shown once.
enum KeyCommands {
    static let all: [Command] = [
        Command(
            words: ["keys", "create"],
            summary: "make an API key and show it once",
            options: [
                .app, Option(name: "--name", value: "NAME", help: "what it is for", isRequired: true),
                Option(
                    name: "--kind",
                    value: "KIND",
                    help: "server (when not given); of dialect vouch: sdk, which ships in an app, or management"
                ),
                Option(name: "--mode", value: "MODE", help: "of a key of dialect vouch: live or test"),
            ] + Option.remote,
            run: create
        ),
        Command(
            words: ["keys", "list"],
            summary: "list keys with when and from where they were last used",
            options: [.app] + Option.remote,
            run: list
        ),
        Command(
            words: ["keys", "revoke"],
            summary: "refuse a key from the next request on",
            operands: [Operand(name: "ID", help: "the key's id, key_…; see keys list")],
            options: [.app] + Option.changing,
            run: revoke
        ),
    ]

    @Sendable private static func create(_ invocation: Invocation) throws(CommandFailure) {
        var members: [(String, JSONValue)] = [("name", .string(invocation["--name"] ?? ""))]
        if let kind = invocation["--kind"] { members.append(("kind", .string(kind))) }
        if let mode = invocation["--mode"] { members.append(("mode", .string(mode))) }
        let body = JSONValue.members(members)
        let target = "/apps/\(try invocation.app().asPathSegment)/api-keys"
        let answer = try RemoteGateway(for: invocation).call("POST", target, body)
        Output.show(answer, for: invocation) { answer in
            "\(answer.text("key"))\n\n  id \(answer.text("id")). Keep it now: it is not stored and cannot be shown again.\n"
        }
    }

    @Sendable private static func list(_ invocation: Invocation) throws(CommandFailure) {
        let target = "/apps/\(try invocation.app().asPathSegment)/api-keys"
        let answer = try RemoteGateway(for: invocation).call("GET", target)
        Output.show(answer, for: invocation) { answer in
            let rows = answer.items("keys").map { row in
                ["id", "kind", "name", "created_at", "last_used_at", "last_used_network"].map { row.text($0) }
            }
            return Output.table(
                ["ID", "KIND", "NAME", "CREATED", "LAST USED", "FROM"],
                rows,
                empty: "no keys; make one: sallyport keys create --name NAME"
            )
        }
    }

    @Sendable private static func revoke(_ invocation: Invocation) throws(CommandFailure) {
        let key = invocation.operands[0].asPathSegment
        let target = "/apps/\(try invocation.app().asPathSegment)/api-keys/\(key)"
        try Change.showRevoking(RemoteGateway(for: invocation).call("DELETE", target), for: invocation)
    }
}
