// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// What is: of the gateway or of one app, now and before.
enum StatusCommands {
    static let all: [Command] = [
        Command(
            words: ["status"],
            summary: "how the gateway is, or with --app what an app has registered and lacks",
            options: [.appIfAny, Option(name: "--gateway", help: "the gateway, although SALLYPORT_APP is set")]
                + Option.remote,
            run: status
        ),
        Command(
            words: ["history"],
            summary: "what was changed, by whom and when, newest first",
            options: [
                .appIfAny,
                Option(name: "--org", value: "ORG", help: "of an organization itself"),
                Option(name: "--limit", value: "N", help: "how many rows, 1 to 1000; 50 when not given"),
                Option(name: "--event", value: "NAME", help: "only this event, such as origin_added"),
            ] + Option.remote,
            notes: "Without an app: the changes of all apps and organizations.",
            run: history
        ),
    ]

    @Sendable private static func status(_ invocation: Invocation) throws(CommandFailure) {
        let gateway = try RemoteGateway(for: invocation)
        let app = invocation.has("--gateway") ? nil : invocation["--app"] ?? invocation.environment["SALLYPORT_APP"]
        if let app, !app.isBlank {
            let answer = try gateway.call("GET", "/apps/\(app.asPathSegment)/status")
            Output.show(answer, for: invocation, appLines)
        } else {
            Output.show(try gateway.call("GET", "/status"), for: invocation, gatewayLines)
        }
    }

    private static func gatewayLines(_ answer: JSONValue) -> String {
        var text = "sallyport \(answer.text("version")), "
        let reasons = answer.texts("reasons")
        text += answer["ready"]?.bool == true ? "ready\n" : "not ready: \(reasons.joined(separator: "; "))\n"
        text += HelpText.columns([
            ("configuration", answer.text("configuration")),
            ("running since", answer.text("started_at")),
            ("last reload", answer.text("last_reload")),
            ("redis", answer.text("redis")),
        ])
        let rows = answer.items("processes").map { process in
            ["name", "pid", "state", "restarts", "connections"].map { process.text($0) }
        }
        return text + trustLines(answer["trust"] ?? .null)
            + answer.texts("warnings").map { "warning: \($0)\n" }.joined() + "\n"
            + Output.table(["PROCESS", "PID", "STATE", "RESTARTS", "CONNECTIONS"], rows, empty: "no processes")
    }

    private static func trustLines(_ trust: JSONValue) -> String {
        let roots = trust.items("roots").count
        var text = "  bundle \(trust.text("version")), \(roots) roots"
        if trust["test_roots"]?.bool == true { text += ", not all of them the vendors'" }
        if let count = trust["status_list_entries"]?.integer, let age = trust["status_list_age_hours"]?.integer {
            text += "; status list: \(count) entries, \(age) hours old"
        } else {
            text += "; no status list (revoked Android certificates are not noticed): see trust.status_list"
        }
        if let problem = trust["last_fetch_problem"]?.string { text += "; last fetch: \(Output.visible(problem))" }
        return "trust\n\(text)\n"
    }

    static func appLines(_ answer: JSONValue) -> String {
        var text = "\(answer.text("name")) (\(answer.text("app_id"))) of \(answer.text("organization"))"
        text += answer["enabled"]?.bool == false ? ", DISABLED\n" : "\n"
        let development = answer["development"] ?? .null
        let isOn = development["active"]?.bool == true
        text += HelpText.columns([
            ("username", answer.text("username")),
            ("record id", answer.text("record_id")),
            ("dialects", answer.texts("dialects").joined(separator: ", ")),
            ("check", answer.text("check")),
            ("production", answer["production"]?.bool == true ? "yes" : "no"),
            ("development mode", isOn ? "on until \(development.text("until"))" : "off"),
            ("lab trust", labTrust(answer["lab_trust"] ?? .null)),
            ("Play keys", answer["play"]?["keys_set"]?.bool == true ? "set" : "not set"),
            ("development builds", answer["development_builds"]?.bool == true ? "accepted" : "refused"),
            ("degraded Androids", answer.text("androidDegraded")),
        ])
        text += "\n"
        for platform in answer.items("platforms") {
            let entries = platform.texts("registered")
            text += "  \(platform.text("platform")):\(entries.isEmpty ? " nothing registered" : "")\n"
            for entry in entries { text += "    \(entry)\n" }
            for command in platform.texts("commands") { text += "    add: \(command)\n" }
        }
        return text
    }

    private static func labTrust(_ trust: JSONValue) -> String {
        trust["active"]?.bool == true ? "a lab's proofs count as development until \(trust.text("until"))" : "off"
    }

    @Sendable private static func history(_ invocation: Invocation) throws(CommandFailure) {
        let limit = try invocation.integer("--limit", in: 1...1000) ?? 50
        let app = invocation["--app"] ?? invocation.environment["SALLYPORT_APP"] ?? ""
        var start = app.isBlank ? "" : "/apps/\(app.asPathSegment)"
        if let organization = invocation["--org"] { start = "/organizations/\(organization.asPathSegment)" }
        let event = invocation["--event"].map { "&event=\($0.asPathSegment)" } ?? ""
        let answer = try RemoteGateway(for: invocation).call("GET", "\(start)/history?limit=\(limit)\(event)")
        try Output.showList(answer, for: invocation) { answer in
            let rows = answer.items("events").map { row in
                [row.text("at"), row.text("by"), row.text("subject"), row.text("event"), row.text("summary")]
            }
            return Output.table(["AT", "BY", "OF", "EVENT", "DETAILS"], rows, empty: "nothing was changed yet")
        }
    }
}
