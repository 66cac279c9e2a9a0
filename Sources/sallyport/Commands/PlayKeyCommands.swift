// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// `play-keys`: what opens an app's Play Integrity tokens; written, never shown.
enum PlayKeyCommands {
    static let all: [Command] = [
        Command(
            words: ["play-keys", "set"],
            summary: "keep Play Console's two keys, or a service account, sealed with an app",
            options: [
                .app,
                Option(
                    name: "--decryption-key-file",
                    value: "FILE",
                    help: "the decryption key as Play Console shows it"
                ),
                Option(
                    name: "--verification-key-file",
                    value: "FILE",
                    help: "the verification key, given together with it"
                ),
                Option(
                    name: "--service-account",
                    value: "FILE",
                    help: "the JSON key of a service account that may ask Google; without it the gateway's own is used"
                ),
            ] + Option.remote,
            notes: "With both keys the gateway opens tokens itself and asks nobody. They are kept encrypted.",
            run: set
        ),
        Command(
            words: ["play-keys", "show"],
            summary: "whether they are set; the keys themselves are never shown",
            options: [.app] + Option.remote,
            run: show
        ),
        Command(
            words: ["play-keys", "remove"],
            summary: "forget an app's Play keys and service account",
            options: [.app] + Option.changing,
            run: remove
        ),
    ]

    @Sendable private static func set(_ invocation: Invocation) throws(CommandFailure) {
        let files = [
            ("--decryption-key-file", "decryption_key"), ("--verification-key-file", "verification_key"),
            ("--service-account", "service_account"),
        ]
        var members: [(String, JSONValue)] = []
        for (option, member) in files {
            guard let path = invocation[option] else { continue }
            members.append((member, .string(try text(path))))
        }
        guard !members.isEmpty else {
            throw .usage(
                "give --decryption-key-file and --verification-key-file, or --service-account",
                seeHelpOf: invocation.command.name
            )
        }
        let gateway = try RemoteGateway(for: invocation)
        Output.show(try gateway.call("PUT", try target(invocation), .members(members)), for: invocation, lines)
    }

    @Sendable private static func show(_ invocation: Invocation) throws(CommandFailure) {
        Output.show(try RemoteGateway(for: invocation).call("GET", try target(invocation)), for: invocation, lines)
    }

    @Sendable private static func remove(_ invocation: Invocation) throws(CommandFailure) {
        let answer = try RemoteGateway(for: invocation).call("DELETE", try target(invocation))
        try Change.showRevoking(answer, for: invocation) { lines($0) + Change.standing($0) }
    }

    private static func target(_ invocation: Invocation) throws(CommandFailure) -> String {
        "/apps/\(try invocation.app().asPathSegment)/play-keys"
    }

    private static func lines(_ answer: JSONValue) -> String {
        let message = answer["message"]?.string.map { "\(Output.visible($0))\n" } ?? ""
        let keys = answer["keys_set"]?.bool == true ? "set" : "not set"
        let account = answer["service_account_set"]?.bool == true ? "set" : "not set"
        return message + HelpText.columns([("Play keys", keys), ("service account", account)])
    }

    /// The text of a file without the line end that editors add.
    static func text(_ path: String) throws(CommandFailure) -> String {
        do {
            var text = String(decoding: try SmallFile.read(path), as: UTF8.self)
            while text.last?.isNewline == true { text.removeLast() }
            return text
        } catch {
            throw CommandFailure(exit: .usage, code: "unreadable_file", message: "\(error)")
        }
    }
}
