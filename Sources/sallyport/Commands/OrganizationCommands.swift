// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// Organizations: the tenants.
enum OrganizationCommands {
    private static let id = Operand(name: "ORG", help: "its id: lower-case letters, digits and -")

    static let all: [Command] = [
        Command(
            words: ["orgs", "create"],
            summary: "make an organization",
            operands: [id],
            options: [Option(name: "--name", value: "NAME", help: "a name for people; else the id")] + Option.remote,
            run: create
        ),
        Command(
            words: ["orgs", "list"],
            summary: "list organizations",
            options: Option.remote,
            notes: Output.listNotes,
            run: list
        ),
        Command(
            words: ["orgs", "show"],
            summary: "show one organization and its apps",
            operands: [id],
            options: Option.remote,
            run: show
        ),
        Command(
            words: ["orgs", "disable"],
            summary: "refuse every app of it from the next request on",
            operands: [id],
            options: Option.changing,
            run: { invocation throws(CommandFailure) in try set(false, invocation) }
        ),
        Command(
            words: ["orgs", "enable"],
            summary: "let its apps in again",
            operands: [id],
            options: Option.remote,
            run: { invocation throws(CommandFailure) in try set(true, invocation) }
        ),
    ]

    @Sendable private static func create(_ invocation: Invocation) throws(CommandFailure) {
        let id = invocation.operands[0]
        let body = JSONValue.members([("id", .string(id)), ("name", .string(invocation["--name"] ?? id))])
        let answer = try RemoteGateway(for: invocation).call("POST", "/organizations", body)
        Output.show(answer, for: invocation, Change.line)
    }

    @Sendable private static func list(_ invocation: Invocation) throws(CommandFailure) {
        let answer = try RemoteGateway(for: invocation).call("GET", "/organizations")
        try Output.showList(answer, for: invocation) { answer in
            let rows = answer.items("organizations").map { row in
                [
                    row.text("id"), row.text("name"), row["enabled"]?.bool == false ? "disabled" : "enabled",
                    row.text("created_at"),
                ]
            }
            return Output.table(
                ["ID", "NAME", "STATE", "CREATED"],
                rows,
                empty: "no organizations; make one: sallyport orgs create ORG"
            )
        }
    }

    @Sendable private static func show(_ invocation: Invocation) throws(CommandFailure) {
        let target = "/organizations/\(invocation.operands[0].asPathSegment)"
        let answer = try RemoteGateway(for: invocation).call("GET", target)
        try Output.showList(answer, for: invocation) { answer in
            HelpText.columns([
                ("id", answer.text("id")), ("name", answer.text("name")),
                ("state", answer["enabled"]?.bool == false ? "disabled" : "enabled"),
                ("created", answer.text("created_at")),
            ]) + "\n" + AppCommands.table(answer)
        }
    }

    private static func set(_ enabled: Bool, _ invocation: Invocation) throws(CommandFailure) {
        let target = "/organizations/\(invocation.operands[0].asPathSegment)"
        let body = JSONValue.members([("enabled", .bool(enabled))])
        let answer = try RemoteGateway(for: invocation).call("PATCH", target, body)
        try Change.showRevoking(answer, for: invocation)
    }
}
