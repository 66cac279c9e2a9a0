// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// The switches of an app.
enum PolicyCommands {
    static let all: [Command] = [
        Command(
            words: ["dev-mode", "on"],
            summary: "accept sign-ins without an attestation for some hours",
            options: [.app, Option(name: "--hours", value: "N", help: "1 to 72; 24 when not given")] + Option.remote,
            run: developmentOn
        ),
        put(["dev-mode", "off"], "end development mode at once", "development-mode", [("enabled", .bool(false))]),
        put(
            ["production", "on"],
            "mark an app production; ends development mode",
            "production",
            [("enabled", .bool(true))]
        ),
        put(["production", "off"], "take the production mark away", "production", [("enabled", .bool(false))]),
        put(["dev-builds", "on"], "let Xcode development builds count", "dev-builds", [("enabled", .bool(true))]),
        put(["dev-builds", "off"], "refuse Xcode development builds", "dev-builds", [("enabled", .bool(false))]),
        put(["degraded", "allow"], "let degraded Androids sign in", "android-degraded", [("allow", .bool(true))]),
        put(["degraded", "refuse"], "refuse degraded Androids", "android-degraded", [("allow", .bool(false))]),
        put(["check", "off"], "the app signs in with its secret", "check", [("mode", .string("off"))]),
        put(["check", "monitor"], "secret and proof both work", "check", [("mode", .string("monitor"))]),
        Command(
            words: ["check", "enforce"],
            summary: "only proofs work; the secret is refused",
            options: [.app, Option(name: "--yes", help: "do not ask when there are warnings")] + Option.changing,
            run: enforce
        ),
    ]

    private static func put(
        _ words: [String],
        _ summary: String,
        _ resource: String,
        _ body: [(String, JSONValue)]
    ) -> Command {
        Command(words: words, summary: summary, options: [.app] + Option.changing) {
            invocation throws(CommandFailure) in
            try change(resource, .members(body), invocation)
        }
    }

    private static func change(
        _ resource: String,
        _ body: JSONValue,
        _ invocation: Invocation
    ) throws(CommandFailure) {
        let target = "/apps/\(try invocation.app().asPathSegment)/\(resource)"
        try Change.showRevoking(RemoteGateway(for: invocation).call("PUT", target, body), for: invocation)
    }

    @Sendable private static func developmentOn(_ invocation: Invocation) throws(CommandFailure) {
        let hours = try invocation.integer("--hours", in: 1...72) ?? 24
        let body = JSONValue.members([("enabled", .bool(true)), ("hours", .number(JSONNumber(hours)))])
        try change("development-mode", body, invocation)
    }

    /// Asks before phones that still use the secret are locked out (APP-085).
    @Sendable private static func enforce(_ invocation: Invocation) throws(CommandFailure) {
        if !invocation.has("--yes") {
            let target = "/apps/\(try invocation.app().asPathSegment)/check?mode=enforce"
            let warnings = try RemoteGateway(for: invocation).call("GET", target).texts("warnings")
            for warning in warnings { Terminal.complain("warning: \(sentence(of: warning))\n") }
            // A script cannot be asked: it says --yes, or nothing changes where phones would be locked out.
            guard warnings.isEmpty || Terminal.isInteractive else {
                throw CommandFailure(
                    exit: .refused,
                    code: "not_confirmed",
                    message: "nothing was changed: nobody is there to be asked",
                    details: warnings.map(sentence),
                    nextSteps: ["if that is meant: the same command with --yes"]
                )
            }
            guard warnings.isEmpty || Terminal.confirms("enforce all the same?") else {
                throw CommandFailure(exit: .refused, code: "not_confirmed", message: "nothing was changed")
            }
        }
        try change("check", .members([("mode", .string("enforce"))]), invocation)
    }

    /// What the word of a warning means.
    private static func sentence(of warning: String) -> String {
        switch warning {
        case "secret_used_30d": "the secret signed the app in during the last 30 days: such sign-ins will be refused"
        case "no_native_identity": "no iOS or Android build is registered: no phone can prove itself"
        default: warning
        }
    }
}
