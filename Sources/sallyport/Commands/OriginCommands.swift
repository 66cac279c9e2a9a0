// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// The websites whose pages may call, by origin.
enum OriginCommands {
    private static let origin = Operand(name: "ORIGIN", help: "scheme://host[:port], as the browser sends it")

    static let all: [Command] = [
        Command(
            words: ["origins", "add"],
            summary: "let pages of an origin in",
            operands: [origin],
            options: [.app] + Option.remote,
            run: { invocation throws(CommandFailure) in try ListEntry.add("origins", "origin", invocation) }
        ),
        Command(
            words: ["origins", "list"],
            summary: "list the origins of an app",
            options: [.app] + Option.remote,
            run: { invocation throws(CommandFailure) in try ListEntry.list("origins", invocation) }
        ),
        Command(
            words: ["origins", "remove"],
            summary: "refuse pages of an origin from the next request on",
            operands: [origin],
            options: [.app] + Option.changing,
            run: { invocation throws(CommandFailure) in try ListEntry.remove("origins", "origin", invocation) }
        ),
        Command(
            words: ["origins", "check"],
            summary: "say step by step how an origin is read and whether it is listed",
            operands: [origin],
            options: [.app] + Option.remote,
            run: check
        ),
    ]

    @Sendable private static func check(_ invocation: Invocation) throws(CommandFailure) {
        let body = JSONValue.members([("origin", .string(invocation.operands[0]))])
        let target = "/apps/\(try invocation.app().asPathSegment)/origins/check"
        let answer = try RemoteGateway(for: invocation).call("POST", target, body)
        Output.show(answer, for: invocation) { answer in
            var text = "\(answer.text("origin"))\n"
            text += HelpText.columns(answer.items("steps").map { ($0.text("step"), $0.text("result")) })
            text += answer["allowed"]?.bool == true ? "allowed\n" : "refused: \(answer.text("reason"))\n"
            for step in answer.texts("next_steps") { text += "  allow it: \(step)\n" }
            return text
        }
    }
}

/// The hosts that a web sign-in may name.
enum DomainCommands {
    private static let domain = Operand(name: "DOMAIN", help: "host[:port], as the browser shows it")

    static let all: [Command] = [
        Command(
            words: ["domains", "add"],
            summary: "let web sign-ins of a domain in",
            operands: [domain],
            options: [.app] + Option.remote,
            run: { invocation throws(CommandFailure) in try ListEntry.add("domains", "domain", invocation) }
        ),
        Command(
            words: ["domains", "list"],
            summary: "list the domains of an app",
            options: [.app] + Option.remote,
            run: { invocation throws(CommandFailure) in try ListEntry.list("domains", invocation) }
        ),
        Command(
            words: ["domains", "remove"],
            summary: "refuse web sign-ins of a domain",
            operands: [domain],
            options: [.app] + Option.changing,
            run: { invocation throws(CommandFailure) in try ListEntry.remove("domains", "domain", invocation) }
        ),
    ]
}

/// Adds to, lists and removes from a list of texts of an app.
enum ListEntry {
    static func add(_ list: String, _ member: String, _ invocation: Invocation) throws(CommandFailure) {
        let body = JSONValue.members([(member, .string(invocation.operands[0]))])
        let target = "/apps/\(try invocation.app().asPathSegment)/\(list)"
        Output.show(try RemoteGateway(for: invocation).call("POST", target, body), for: invocation, Change.line)
    }

    static func list(_ list: String, _ invocation: Invocation) throws(CommandFailure) {
        let app = try invocation.app()
        let answer = try RemoteGateway(for: invocation).call("GET", "/apps/\(app.asPathSegment)/\(list)")
        Output.show(answer, for: invocation) { answer in
            let entries = answer.texts(list)
            return entries.isEmpty ? "no \(list)\n" : entries.map { $0 + "\n" }.joined()
        }
    }

    static func remove(_ list: String, _ member: String, _ invocation: Invocation) throws(CommandFailure) {
        let entry = invocation.operands[0].asPathSegment
        let target = "/apps/\(try invocation.app().asPathSegment)/\(list)/\(entry)"
        try Change.showRevoking(RemoteGateway(for: invocation).call("DELETE", target), for: invocation)
    }
}
