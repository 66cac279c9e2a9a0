// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// The gateway's own keys: those that sign its tokens, and those at rest.
enum KeyringCommands {
    static let all: [Command] = [
        Command(
            words: ["keyring", "list"],
            summary: "list signing keys, sealing keys and peppers by their ids, and which nodes hold them",
            options: Option.remote,
            notes: "A sealing key or pepper that is retired and has no uses can be taken out of the key files.",
            run: list
        ),
        Command(
            words: ["keyring", "rotate"],
            summary: "publish a new signing key, or take up a new sealing key or pepper",
            options: [
                Option(name: "--seal", help: "the key that seals what Redis keeps"),
                Option(name: "--pepper", help: "the key of the hashes of API keys and secrets"),
            ] + Option.changing,
            notes: "A new signing key is published ten minutes before it signs; the old one verifies until the last"
                + " token that it signed has ended. Keys at rest are in files of each node: with several nodes the first"
                + " call makes the key, you copy the file, and the second call takes it up.",
            run: rotate
        ),
    ]

    @Sendable private static func list(_ invocation: Invocation) throws(CommandFailure) {
        let answer = try RemoteGateway(for: invocation).call("GET", "/keyring")
        try Output.showList(answer, for: invocation) { answer in
            let signing = answer.items("signing").map { key in
                ["id", "algorithm", "state", "signs_from", "verifies_until"].map { key.text($0) }
            }
            var text = Output.table(
                ["SIGNING KEY", "ALG", "STATE", "SIGNS FROM", "UNTIL"],
                signing,
                empty: "no keys yet"
            )
            for (name, heading) in [("seal", "SEALING KEY"), ("pepper", "PEPPER")] {
                let keys = (answer[name] ?? .null).items("keys").map { key in
                    ["id", "state", "uses"].map { key.text($0) }
                }
                text += "\n" + Output.table([heading, "STATE", "USES"], keys, empty: "none")
            }
            let nodes = answer.items("nodes").map { node in
                [
                    node.text("node") + (node["here"]?.bool == true ? " (here)" : ""),
                    node.texts("seals").joined(separator: " "), node.texts("peppers").joined(separator: " "),
                ]
            }
            text += "\n" + Output.table(["NODE", "SEALING KEYS", "PEPPERS"], nodes, empty: "no nodes")
            if let problem = answer["problem"]?.string { text += "\nnot ready: \(Output.visible(problem))\n" }
            return text
        }
    }

    @Sendable private static func rotate(_ invocation: Invocation) throws(CommandFailure) {
        guard !(invocation.has("--seal") && invocation.has("--pepper")) else {
            throw .usage("rotate one thing at a time: --seal or --pepper", seeHelpOf: invocation.command.name)
        }
        let what = invocation.has("--seal") ? "seal" : invocation.has("--pepper") ? "pepper" : "signing"
        let body = JSONValue.members([("what", .string(what))])
        try Change.showRevoking(RemoteGateway(for: invocation).call("POST", "/keyring/rotate", body), for: invocation)
    }
}
