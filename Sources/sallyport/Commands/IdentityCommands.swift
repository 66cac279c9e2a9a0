// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// `identity`: what an app of dialect C proves itself by, saved in one step; parts that are not given stay.
enum IdentityCommands {
    private static func text(_ name: String, _ value: String, _ help: String, mayRepeat: Bool = false) -> Option {
        Option(name: name, value: value, help: help, mayRepeat: mayRepeat)
    }

    static let all: [Command] = [
        Command(
            words: ["identity", "set"],
            summary: "save an app's iOS, Android and web identity in one step; parts not given stay",
            options: [
                .app, text("--ios-team", "T", "the Team ID, given together with the bundle ID"),
                text("--ios-bundle", "B", "the bundle ID"), text("--android-package", "P", "the package name"),
                text("--android-sha256", "F", "a certificate's SHA-256; all of them at once", mayRepeat: true),
                text("--play-decryption-key-file", "FILE", "Play Console's decryption key"),
                text("--play-verification-key-file", "FILE", "Play Console's verification key, together with it"),
                text("--domain", "D", "an allowed domain; all of them at once", mayRepeat: true),
            ] + Option.changing,
            notes: "The Play keys are kept encrypted and never shown again.",
            run: set
        ),
        Command(
            words: ["identity", "show"],
            summary: "show an app's identity; of the Play keys only whether they are set",
            options: [.app] + Option.remote,
            run: show
        ),
    ]

    @Sendable private static func set(_ invocation: Invocation) throws(CommandFailure) {
        var body: [(String, JSONValue)] = []
        let ios = members(invocation, [("--ios-team", "teamId"), ("--ios-bundle", "bundleId")])
        if !ios.isEmpty { body.append(("ios", .members(ios))) }
        var android = members(invocation, [("--android-package", "packageName")])
        if invocation.has("--android-sha256") {
            android.append(("certificateSha256", .array(invocation.all("--android-sha256").map(JSONValue.string))))
        }
        let keys = [
            ("--play-decryption-key-file", "decryptionKey"), ("--play-verification-key-file", "verificationKey"),
        ]
        for (option, member) in keys {
            guard let path = invocation[option] else { continue }
            android.append((member, .string(try PlayKeyCommands.text(path))))
        }
        if !android.isEmpty { body.append(("android", .members(android))) }
        if invocation.has("--domain") {
            let domains = JSONValue.array(invocation.all("--domain").map(JSONValue.string))
            body.append(("web", .members([("allowedDomains", domains)])))
        }
        guard !body.isEmpty else {
            throw .usage("give at least one part of the identity", seeHelpOf: invocation.command.name)
        }
        let answer = try RemoteGateway(for: invocation).call("PUT", try target(invocation), .members(body))
        Output.show(answer, for: invocation) { answer in
            (answer["changed"]?.bool == true ? "saved\n" : "nothing to change\n") + lines(answer)
        }
        if answer["confirmed"]?.bool == false { throw CommandFailure.told }
    }

    @Sendable private static func show(_ invocation: Invocation) throws(CommandFailure) {
        Output.show(try RemoteGateway(for: invocation).call("GET", try target(invocation)), for: invocation, lines)
    }

    private static func members(_ invocation: Invocation, _ names: [(String, String)]) -> [(String, JSONValue)] {
        names.compactMap { option, member in invocation[option].map { (member, .string($0)) } }
    }

    private static func target(_ invocation: Invocation) throws(CommandFailure) -> String {
        "/apps/\(try invocation.app().asPathSegment)/identity"
    }

    private static func lines(_ answer: JSONValue) -> String {
        let ios = answer["ios"] ?? .null
        let android = answer["android"] ?? .null
        let domains = (answer["web"] ?? .null).texts("allowedDomains")
        return HelpText.columns([
            ("username", answer.text("username")), ("record id", answer.text("sk")), ("check", answer.text("check")),
            ("iOS", ios.object == nil ? "-" : "\(ios.text("bundleId")), team \(ios.text("teamId"))"),
            ("Android", ([android.text("packageName")] + android.texts("certificateSha256")).joined(separator: ", ")),
            ("Play keys", android["keysSet"]?.bool == true ? "set" : "not set"),
            ("domains", domains.isEmpty ? "-" : domains.joined(separator: ", ")),
            ("debug tokens", answer["allowDebugTokens"]?.bool == true ? "taken" : "refused"),
        ])
    }
}
