// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

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
