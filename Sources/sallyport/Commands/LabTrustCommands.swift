// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// For how long an app takes a lab's proofs.
enum LabTrustCommands {
    static let all: [Command] = [
        Command(
            words: ["lab", "trust", "on"],
            summary: "let a lab's proofs count for an app, as development, for some hours",
            options: [
                .app, Option(name: "--hours", value: "H", help: "1 to 168", isRequired: true),
                Option(name: "--lab", value: "DIR", help: "the lab's directory", isRequired: true),
            ] + Option.remote,
            run: on
        ),
        Command(
            words: ["lab", "trust", "off"],
            summary: "stop taking a lab's proofs for an app",
            options: [.app] + Option.changing,
            run: off
        ),
    ]

    @Sendable private static func on(_ invocation: Invocation) throws(CommandFailure) {
        let hours = try invocation.integer("--hours", in: 1...168) ?? 1
        let body = JSONValue.members([
            ("enabled", .bool(true)), ("hours", .number(JSONNumber(hours))),
            ("apple_root", .string(try file("apple-root.pem", invocation))),
            ("android_root", .string(try file("android-root.pem", invocation))),
            ("play_decryption_key", .string(try file("play-decryption.key", invocation))),
            ("play_verification_key", .string(try file("play-verification.key", invocation))),
        ])
        let gateway = try RemoteGateway(for: invocation)
        Output.show(try gateway.call("PUT", try target(invocation), body), for: invocation, Change.line)
    }

    @Sendable private static func off(_ invocation: Invocation) throws(CommandFailure) {
        let body = JSONValue.members([("enabled", .bool(false))])
        let target = try target(invocation)
        try Change.showRevoking(RemoteGateway(for: invocation).call("PUT", target, body), for: invocation)
    }

    private static func target(_ invocation: Invocation) throws(CommandFailure) -> String {
        "/apps/\(try invocation.app().asPathSegment)/lab-trust"
    }

    private static func file(_ name: String, _ invocation: Invocation) throws(CommandFailure) -> String {
        do {
            return String(decoding: try SmallFile.read("\(invocation["--lab"] ?? "")/\(name)"), as: UTF8.self)
        } catch {
            throw LabProofCommands.failure("\(error)")
        }
    }
}
