// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// The verbs about the gateway itself: start it, check its file, reload it.
enum RunCommands {
    static let all: [Command] = [
        Command(
            words: ["run"],
            summary: "start the gateway in the foreground",
            options: [
                .configuration,
                Option(name: "--workers", value: "N", help: "worker processes; else the file's workers:"),
                Option(name: "--single", help: "all roles in one process, for debuggers and sanitizers"),
            ],
            notes: "HUP reloads, TERM drains and stops, INT stops at once, USR1 opens log files again.",
            run: start
        ),
        Command(
            words: ["check"],
            summary: "check the configuration file with the code that run uses",
            options: [.configuration, .json],
            notes:
                "What would keep only this machine or this user from it is a warning; run and reload refuse it. To set how an app may sign in: sallyport check off|monitor|enforce --app APP",
            run: check
        ),
        Command(
            words: ["reload"],
            summary: "take the changed file in place; on any problem the old set stays",
            options: Option.remote,
            run: reload
        ),
    ]

    @Sendable private static func start(_ invocation: Invocation) throws(CommandFailure) {
        let path = try ConfigurationFile.path(for: invocation)
        let workers = try invocation.integer("--workers", in: 1...256)
        let configuration = try ConfigurationFile.load(for: invocation, surroundings: .starting)
        let fault = GatewayProcess.run(
            GatewayStart(
                configuration: configuration,
                path: Files.absolute(path),
                workers: workers,
                isSingle: invocation.has("--single")
            ),
            environment: invocation.environment
        )
        guard let fault else { return }
        throw CommandFailure(exit: .refused, code: "start_failed", message: fault.message, nextSteps: fault.nextSteps)
    }

    @Sendable private static func check(_ invocation: Invocation) throws(CommandFailure) {
        let path = try ConfigurationFile.path(for: invocation)
        let (configuration, warnings) = try ConfigurationFile.check(for: invocation)
        let answer = JSONValue.members([
            ("ok", .bool(true)), ("file", .string(path)),
            ("listeners", .number(JSONNumber(configuration.listeners.count))),
            ("routes", .number(JSONNumber(configuration.routes.count))),
            ("upstreams", .number(JSONNumber(configuration.upstreams.count))),
            ("warnings", .array(warnings.map(JSONValue.string))),
        ])
        if !invocation.wantsJSON {
            for warning in warnings { Terminal.complain("\(Output.visible(ConfigurationFile.warning(warning)))\n") }
        }
        Output.show(answer, for: invocation) { answer in
            "\(path): ok: \(answer.text("listeners")) listeners, \(answer.text("routes")) routes, "
                + "\(answer.text("upstreams")) upstreams\n"
        }
    }

    @Sendable private static func reload(_ invocation: Invocation) throws(CommandFailure) {
        let answer = try RemoteGateway(for: invocation).call("POST", "/reload")
        Output.show(answer, for: invocation) { answer in
            "reloaded: \(answer.text("workers")) workers serve the new configuration\n"
        }
    }
}
