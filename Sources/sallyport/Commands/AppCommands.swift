// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// Apps: the credentials of an organization.
enum AppCommands {
    static let all: [Command] = [
        Command(
            words: ["apps", "create"],
            summary: "make an app of an organization",
            options: [
                Option(name: "--name", value: "NAME", help: "a name for people", isRequired: true),
                Option(
                    name: "--org",
                    value: "ORG",
                    help: "the organization; else that of the app at hand, or the only one"
                ),
                Option(name: "--username", value: "U", help: "its name within the organization; else made from NAME"),
                Option(name: "--id", value: "APP", help: "the App ID, app_…; else made up"),
                Option(
                    name: "--dialect",
                    value: "D",
                    help: "offlineid (when not given), vouch or appengine",
                    mayRepeat: true
                ),
            ] + Option.remote,
            run: create
        ),
        Command(
            words: ["apps", "list"],
            summary: "list apps",
            options: [Option(name: "--org", value: "ORG", help: "only of this organization")] + Option.remote,
            notes: Output.listNotes,
            run: list
        ),
        Command(words: ["apps", "show"], summary: "show one app whole", options: [.app] + Option.remote, run: show),
        Command(
            words: ["apps", "disable"],
            summary: "refuse every request that names it, from the next one on",
            options: [.app] + Option.changing,
            run: { invocation throws(CommandFailure) in try set(false, invocation) }
        ),
        Command(
            words: ["apps", "enable"],
            summary: "let it in again",
            options: [.app] + Option.remote,
            run: { invocation throws(CommandFailure) in try set(true, invocation) }
        ),
        Command(
            words: ["apps", "revoke"],
            summary: "stop an app for good: keys, origins and the tokens it holds are refused from the next request on",
            options: [.app] + Option.changing,
            run: revoke
        ),
    ]

    @Sendable private static func create(_ invocation: Invocation) throws(CommandFailure) {
        var members: [(String, JSONValue)] = [
            ("name", .string(invocation["--name"] ?? "")), ("organization", .string(try organization(invocation))),
        ]
        if let username = invocation["--username"] { members.append(("username", .string(username))) }
        if let id = invocation["--id"] { members.append(("app_id", .string(id))) }
        let dialects = invocation.all("--dialect")
        if !dialects.isEmpty { members.append(("dialects", .array(dialects.map(JSONValue.string)))) }
        let answer = try RemoteGateway(for: invocation).call("POST", "/apps", .members(members))
        Output.show(answer, for: invocation, Change.line)
    }

    /// The organization that a new app is for: a refusal names the command without it, to
    /// people who have an app already.
    private static func organization(_ invocation: Invocation) throws(CommandFailure) -> String {
        if let named = invocation["--org"] { return named }
        let gateway = try RemoteGateway(for: invocation)
        if let app = invocation.appAtHand {
            return try gateway.call("GET", "/apps/\(app.asPathSegment)").text("organization")
        }
        let all = try gateway.call("GET", "/organizations").items("organizations")
        guard all.count == 1 else {
            throw .usage(
                "which organization? give --org ORG: there are \(all.count)",
                seeHelpOf: invocation.command.name
            )
        }
        return all[0].text("id")
    }

    @Sendable private static func list(_ invocation: Invocation) throws(CommandFailure) {
        let query = invocation["--org"].map { "?organization=\($0.asPathSegment)" } ?? ""
        let answer = try RemoteGateway(for: invocation).call("GET", "/apps\(query)")
        try Output.showList(answer, for: invocation, table)
    }

    static func table(_ answer: JSONValue) -> String {
        let rows = answer.items("apps").map { row in
            [
                row.text("app_id"), row.text("organization"), row.text("username"), row.text("name"),
                row["revoked"]?.bool == true ? "revoked" : row["enabled"]?.bool == false ? "disabled" : "enabled",
                row.text("check"),
            ]
        }
        return Output.table(
            ["APP ID", "ORG", "USERNAME", "NAME", "STATE", "CHECK"],
            rows,
            empty: "no apps; make one: sallyport apps create --org ORG --name NAME"
        )
    }

    @Sendable private static func show(_ invocation: Invocation) throws(CommandFailure) {
        let answer = try RemoteGateway(for: invocation).call("GET", "/apps/\(invocation.app().asPathSegment)")
        Output.show(answer, for: invocation) { answer in
            var text = StatusCommands.appLines(answer)
            for list in ["origins", "domains"] {
                let entries = answer.texts(list)
                text += "\n  \(list): \(entries.isEmpty ? "none" : "")\n"
                for entry in entries { text += "    \(entry)\n" }
            }
            return text
        }
    }

    @Sendable private static func revoke(_ invocation: Invocation) throws(CommandFailure) {
        let target = "/apps/\(try invocation.app().asPathSegment)/revoke"
        try Change.showRevoking(RemoteGateway(for: invocation).call("POST", target), for: invocation)
    }

    private static func set(_ enabled: Bool, _ invocation: Invocation) throws(CommandFailure) {
        let target = "/apps/\(try invocation.app().asPathSegment)"
        let body = JSONValue.members([("enabled", .bool(enabled))])
        try Change.showRevoking(RemoteGateway(for: invocation).call("PATCH", target, body), for: invocation)
    }
}
