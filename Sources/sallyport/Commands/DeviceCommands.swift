// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

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
