// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// Brings the registry to the state of a tenants' file.
enum ApplyCommands {
    static let all: [Command] = [
        Command(
            words: ["apply"],
            summary: "bring organizations and apps to the state of a file",
            options: [
                Option(name: "--file", value: "F", help: "the tenants' file; -f for short; else \(ProjectFile.name)"),
                Option(name: "--dry-run", help: "print the differences, change nothing"),
                Option(name: "--prune", help: "disable what the file does not name"),
            ] + Option.changing,
            notes: "Secrets are never in the file. What it does not name is left alone unless --prune.",
            run: apply
        )
    ]

    @Sendable private static func apply(_ invocation: Invocation) throws(CommandFailure) {
        let path = invocation["--file"] ?? ProjectFile.name
        let text: String
        switch Files.readForPerson(path) {
        case .success(let bytes): text = String(decoding: bytes, as: UTF8.self)
        case .failure(let fault): throw .usage("cannot read \(path): \(fault.message)", seeHelpOf: "apply")
        }
        let body = JSONValue.members([
            ("file", .string(path)), ("text", .string(text)),
            ("dry_run", .bool(invocation.has("--dry-run"))), ("prune", .bool(invocation.has("--prune"))),
        ])
        let answer = try RemoteGateway(for: invocation).call("PUT", "/config", body)
        try Output.showList(answer, for: invocation) { answer in
            let changes = answer.texts("changes")
            let word = answer["dry_run"]?.bool == true ? "would change" : "changed"
            if changes.isEmpty {
                return "nothing to change: the registry is as \(path) says\n" + Change.standing(answer)
            }
            return "\(word) \(changes.count):\n" + changes.map { "  \($0)\n" }.joined()
                + Change.standing(answer)
        }
        try Change.requireConfirmed(answer)
    }
}
