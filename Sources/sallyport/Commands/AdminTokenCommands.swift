// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// Tokens for the admin API on a TCP address.
enum AdminTokenCommands {
    static let all: [Command] = [
        Command(
            words: ["admin-tokens", "create"],
            summary: "make a token for the admin API over the network and show it once",
            options: [
                Option(name: "--name", value: "NAME", help: "whose it is; the history names it", isRequired: true),
                Option(
                    name: "--role",
                    value: "ROLE",
                    help: "platform-admin, org-admin or viewer",
                    isRequired: true
                ),
                Option(name: "--org", value: "ORG", help: "the organization of an org-admin or viewer"),
                Option(name: "--days", value: "N", help: "its life, 1 to 366; 90 when not given"),
            ] + Option.remote,
            notes: "Used as Authorization: Bearer TOKEN where admin.address is a TCP address; see config/README.md.",
            run: create
        ),
        Command(
            words: ["admin-tokens", "list"],
            summary: "list admin tokens by their ids, never the tokens",
            options: Option.remote,
            run: list
        ),
        Command(
            words: ["admin-tokens", "revoke"],
            summary: "refuse an admin token from the next request on",
            operands: [Operand(name: "ID", help: "the token's id, adm_…; see admin-tokens list")],
            options: Option.changing,
            run: revoke
        ),
    ]

    @Sendable private static func create(_ invocation: Invocation) throws(CommandFailure) {
        var members: [(String, JSONValue)] = [
            ("name", .string(invocation["--name"] ?? "")), ("role", .string(invocation["--role"] ?? "")),
        ]
        if let organization = invocation["--org"] { members.append(("organization", .string(organization))) }
        if let days = try invocation.integer("--days", in: 1...366) {
            members.append(("days", .number(JSONNumber(days))))
        }
        let answer = try RemoteGateway(for: invocation).call("POST", "/admin-tokens", .members(members))
        Output.show(answer, for: invocation) { answer in
            "\(answer.text("token"))\n\n  id \(answer.text("id")), until \(answer.text("expires_at"))."
                + " Keep it now: it is not stored and cannot be shown again.\n"
        }
    }

    @Sendable private static func list(_ invocation: Invocation) throws(CommandFailure) {
        let answer = try RemoteGateway(for: invocation).call("GET", "/admin-tokens")
        Output.show(answer, for: invocation) { answer in
            let rows = answer.items("tokens").map { row in
                ["id", "name", "role", "organization", "expires_at", "by"].map { row.text($0) }
            }
            return Output.table(["ID", "NAME", "ROLE", "ORG", "UNTIL", "BY"], rows, empty: "no admin tokens")
        }
    }

    @Sendable private static func revoke(_ invocation: Invocation) throws(CommandFailure) {
        let target = "/admin-tokens/\(invocation.operands[0].asPathSegment)"
        try Change.showRevoking(RemoteGateway(for: invocation).call("DELETE", target), for: invocation)
    }
}
