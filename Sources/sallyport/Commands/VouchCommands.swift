// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// `policy`, `settings`, `debug-devices`, `devices revoke`, `verdicts`: what an app does with dialect vouch.
enum VouchCommands {
    static let all: [Command] = [
        Command(
            words: ["policy", "get"],
            summary: "what degraded devices, reasons and signals are worth, and how many devices each rule met",
            options: [.app] + Option.remote,
            run: policies
        ),
        Command(
            words: ["policy", "set"],
            summary: "change rules: WHEN=allow, WHEN=refuse, WHEN=monitor, or WHEN=default to take one away",
            operands: [
                Operand(name: "WHEN=ACTION", help: "such as degraded=monitor or signal_rooted=refuse", mayRepeat: true)
            ],
            options: [.app] + Option.changing,
            notes:
                "A reason's or signal's own rule comes before the one of degraded. monitor gives the token and counts.",
            run: setPolicies
        ),
        Command(
            words: ["settings", "show"],
            summary: "how long verdicts are remembered, and run tokens and nonces live",
            options: [.app] + Option.remote,
            run: settings
        ),
        Command(
            words: ["settings", "set"],
            summary: "change them: verdict-cache=, run-token-ttl=, nonce-ttl=, in seconds or such as 15m or 24h",
            operands: [Operand(name: "NAME=TIME", help: "such as run-token-ttl=15m", mayRepeat: true)],
            options: [.app] + Option.remote,
            run: setSettings
        ),
        Command(
            words: ["debug-devices", "add"],
            summary: "let a development device attest with a test key and no proof",
            operands: [Operand(name: "DEVICE", help: "the device's id")],
            options: [.app] + Option.remote,
            run: { invocation throws(CommandFailure) in
                let body = JSONValue.members([("device_id", .string(invocation.operands[0]))])
                try call("POST", "debug-devices", body, invocation, Change.line)
            }
        ),
        Command(
            words: ["debug-devices", "list"],
            summary: "list development devices",
            options: [.app] + Option.remote,
            run: { invocation throws(CommandFailure) in
                try call("GET", "debug-devices", nil, invocation) { answer in
                    let rows = answer.items("debug_devices").map { [$0.text("device_id"), $0.text("created_at")] }
                    return Output.table(["DEVICE", "CREATED"], rows, empty: "no debug devices")
                }
            }
        ),
        Command(
            words: ["debug-devices", "remove"],
            summary: "judge a development device as any other again",
            operands: [Operand(name: "DEVICE", help: "the device's id")],
            options: [.app] + Option.changing,
            run: { invocation throws(CommandFailure) in
                try revoke("DELETE", "debug-devices/\(invocation.operands[0].asPathSegment)", nil, invocation)
            }
        ),
        Command(
            words: ["devices", "revoke"],
            summary: "end every run token of a device at once; it may attest again",
            operands: [Operand(name: "DEVICE", help: "the device's id")],
            options: [.app, Option(name: "--test", help: "the device of this name that test keys saw")]
                + Option.changing,
            run: { invocation throws(CommandFailure) in
                let kind = invocation.has("--test") ? "test" : "live"
                let target = "devices/\(invocation.operands[0].asPathSegment)/revoke?kind=\(kind)"
                try revoke("POST", target, .members([]), invocation)
            }
        ),
        Command(
            words: ["verdicts"],
            summary: "the latest exchanges of an app, newest first",
            options: [.app, Option(name: "--limit", value: "N", help: "how many, 1 to 1000; 50 when not given")]
                + Option.remote,
            run: verdicts
        ),
    ]

    @Sendable private static func policies(_ invocation: Invocation) throws(CommandFailure) {
        try call("GET", "policies", nil, invocation) { answer in
            let rows = answer.items("policies").map { row in
                [row.text("when"), row.text("action"), row.text("devices"), row.text("since")]
            }
            let empty = "no rules: pass and degraded both give a run token"
            return Output.table(["WHEN", "ACTION", "DEVICES", "SINCE"], rows, empty: empty)
        }
    }

    @Sendable private static func setPolicies(_ invocation: Invocation) throws(CommandFailure) {
        let gateway = try RemoteGateway(for: invocation)
        let target = "/apps/\(try invocation.app().asPathSegment)/policies"
        var rules = try gateway.call("GET", target).items("policies").map { ($0.text("when"), $0.text("action")) }
        for operand in invocation.operands {
            let (when, action) = try pair(operand, invocation)
            rules.removeAll { $0.0 == when }
            if action != "default" { rules.append((when, action)) }
        }
        let values = rules.map { JSONValue.members([("when", .string($0.0)), ("action", .string($0.1))]) }
        let answer = try gateway.call("PUT", target, .members([("policies", .array(values))]))
        try Change.showRevoking(answer, for: invocation)
    }

    @Sendable private static func settings(_ invocation: Invocation) throws(CommandFailure) {
        try call("GET", "settings", nil, invocation) { answer in
            HelpText.columns([
                ("verdict-cache", "\(answer.text("verdict_cache_seconds")) s"),
                ("run-token-ttl", "\(answer.text("run_token_seconds")) s"),
                ("nonce-ttl", "\(answer.text("nonce_seconds")) s"),
            ])
        }
    }

    @Sendable private static func setSettings(_ invocation: Invocation) throws(CommandFailure) {
        let names = [
            "verdict-cache": "verdict_cache_seconds", "run-token-ttl": "run_token_seconds",
            "nonce-ttl": "nonce_seconds",
        ]
        var members: [(String, JSONValue)] = []
        for operand in invocation.operands {
            let (name, value) = try pair(operand, invocation)
            guard let member = names[name], let seconds = seconds(value) else {
                throw .usage(
                    "\"\(operand)\" is none of verdict-cache=, run-token-ttl=, nonce-ttl= with a time",
                    seeHelpOf: invocation.command.name
                )
            }
            members.append((member, .number(JSONNumber(seconds))))
        }
        try call("PATCH", "settings", .members(members), invocation, Change.line)
    }

    @Sendable private static func verdicts(_ invocation: Invocation) throws(CommandFailure) {
        let limit = try invocation.integer("--limit", in: 1...1_000) ?? 50
        try call("GET", "verdicts?limit=\(limit)", nil, invocation) { answer in
            let rows = answer.items("verdicts").map { row in
                [
                    row.text("at"), row.text("device_id"), row.text("app_version"), row.text("platform"),
                    row.text("kind"), row.text("verdict"), row.texts("reasons").joined(separator: ", "),
                ]
            }
            let heads = ["AT", "DEVICE", "VERSION", "PLATFORM", "KIND", "VERDICT", "REASONS"]
            return Output.table(heads, rows, empty: "no exchange yet")
        }
    }

    private static func call(
        _ method: String,
        _ resource: String,
        _ body: JSONValue?,
        _ invocation: Invocation,
        _ lines: (JSONValue) -> String
    ) throws(CommandFailure) {
        let target = "/apps/\(try invocation.app().asPathSegment)/\(resource)"
        Output.show(try RemoteGateway(for: invocation).call(method, target, body), for: invocation, lines)
    }

    private static func revoke(
        _ method: String,
        _ resource: String,
        _ body: JSONValue?,
        _ invocation: Invocation
    ) throws(CommandFailure) {
        let target = "/apps/\(try invocation.app().asPathSegment)/\(resource)"
        try Change.showRevoking(RemoteGateway(for: invocation).call(method, target, body), for: invocation)
    }

    private static func pair(
        _ operand: String,
        _ invocation: Invocation
    ) throws(CommandFailure) -> (String, String) {
        let parts = operand.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else {
            throw .usage("\"\(operand)\" has no = with a value", seeHelpOf: invocation.command.name)
        }
        return (parts[0], parts[1])
    }

    /// Seconds, or a number with s, m, h or d.
    private static func seconds(_ text: String) -> Int? {
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        guard let last = text.last else { return nil }
        let (digits, unit) = units[last].map { (text.dropLast(), $0) } ?? (text[...], 1)
        guard let number = Int(digits), number >= 0 else { return nil }
        let (seconds, overflow) = number.multipliedReportingOverflow(by: unit)
        return overflow ? nil : seconds
    }
}
