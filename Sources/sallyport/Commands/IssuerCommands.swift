// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Gateway

/// Outside issuers of tokens.
enum IssuerCommands {
    static let all: [Command] = [
        Command(
            words: ["issuers", "list"],
            summary: "list the outside issuers whose keys are fetched, and how old their keys are",
            options: Option.remote,
            run: list
        )
    ]

    @Sendable private static func list(_ invocation: Invocation) throws(CommandFailure) {
        let answer = try RemoteGateway(for: invocation).call("GET", "/issuers")
        Output.show(answer, for: invocation) { answer in
            let rows = answer.items("issuers").map { row in
                ["name", "keys", "age", "keys_from", "problem"].map { row.text($0) }
            }
            return Output.table(
                ["NAME", "KEYS", "AGE", "FROM", "PROBLEM"],
                rows,
                empty: "no issuer's keys are fetched"
            )
        }
    }
}
