// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// The native builds that an app registered.
enum NativeCommands {
    private static let bundle = Option(name: "--bundle-id", value: "B", help: "the bundle id", isRequired: true)
    private static let package = Option(name: "--package", value: "P", help: "the package name", isRequired: true)

    static let all: [Command] = [
        Command(
            words: ["native", "add", "ios"],
            summary: "register an iOS build",
            options: [.app, bundle, Option(name: "--team-id", value: "T", help: "the signing team", isRequired: true)]
                + Option.remote,
            run: addIOS
        ),
        Command(
            words: ["native", "add", "android"],
            summary: "register an Android package with its signing certificates",
            options: [
                .app, package,
                Option(
                    name: "--sha256",
                    value: "F",
                    help: "a certificate's SHA-256 fingerprint, with or without colons",
                    isRequired: true,
                    mayRepeat: true
                ),
            ] + Option.remote,
            run: addAndroid
        ),
        Command(
            words: ["native", "remove", "ios"],
            summary: "take an iOS build out",
            options: [.app, bundle, Option(name: "--team-id", value: "T", help: "only with this team")]
                + Option.changing,
            run: removeIOS
        ),
        Command(
            words: ["native", "remove", "android"],
            summary: "take an Android package, or one fingerprint of it, out",
            options: [.app, package, Option(name: "--sha256", value: "F", help: "only this fingerprint")]
                + Option.changing,
            run: removeAndroid
        ),
        Command(words: ["native", "list"], summary: "list builds", options: [.app] + Option.remote, run: list),
        Command(
            words: ["native", "detect"],
            summary: "find what to register in a project's files; asks no gateway",
            options: [
                Option(name: "--project", value: "DIR", help: "the project's folder; the present one when not given"),
                .json,
            ],
            notes: """
                Looks in app.json, in Xcode projects and in android/app/build.gradle. Fingerprints are in no file of a
                project: Play Console shows them (App integrity), for a keystore of yours keytool does.
                """,
            run: detect
        ),
    ]

    @Sendable private static func detect(_ invocation: Invocation) throws(CommandFailure) {
        let directory = invocation["--project"] ?? "."
        let found = ProjectScan(directory)
        guard !found.builds.isEmpty else {
            throw CommandFailure(
                exit: .refused,
                code: "nothing_found",
                message: "\(directory) has no build that could be registered",
                details: ["looked in: \(ProjectScan.places.joined(separator: ", "))"],
                nextSteps: ["sallyport native detect --project DIR"]
            )
        }
        Output.show(found.json, for: invocation) { _ in
            let rows = found.builds.map {
                [$0.platform.rawValue, $0.name, $0.team.map { "team \($0)" } ?? "-", $0.file]
            }
            return Output.table(["PLATFORM", "BUILD", "SIGNED BY", "FOUND IN"], rows, empty: "")
                + "\nregister:\n" + found.builds.map { "  \($0.command)\n" }.joined()
        }
    }

    @Sendable private static func addIOS(_ invocation: Invocation) throws(CommandFailure) {
        let body = JSONValue.members([
            ("bundle_id", .string(invocation["--bundle-id"] ?? "")),
            ("team_id", .string(invocation["--team-id"] ?? "")),
        ])
        try change("POST", "ios", body, invocation)
    }

    @Sendable private static func addAndroid(_ invocation: Invocation) throws(CommandFailure) {
        let body = JSONValue.members([
            ("package", .string(invocation["--package"] ?? "")),
            ("sha256", .array(invocation.all("--sha256").map(JSONValue.string))),
        ])
        try change("POST", "android", body, invocation)
    }

    @Sendable private static func removeIOS(_ invocation: Invocation) throws(CommandFailure) {
        let team = invocation["--team-id"].map { "?team_id=\($0.asPathSegment)" } ?? ""
        try remove("ios/\((invocation["--bundle-id"] ?? "").asPathSegment)\(team)", invocation)
    }

    @Sendable private static func removeAndroid(_ invocation: Invocation) throws(CommandFailure) {
        let print = invocation["--sha256"].map { "/\($0.asPathSegment)" } ?? ""
        try remove("android/\((invocation["--package"] ?? "").asPathSegment)\(print)", invocation)
    }

    private static func change(
        _ method: String,
        _ rest: String,
        _ body: JSONValue?,
        _ invocation: Invocation
    ) throws(CommandFailure) {
        let target = "/apps/\(try invocation.app().asPathSegment)/native/\(rest)"
        Output.show(try RemoteGateway(for: invocation).call(method, target, body), for: invocation, Change.line)
    }

    private static func remove(_ rest: String, _ invocation: Invocation) throws(CommandFailure) {
        let target = "/apps/\(try invocation.app().asPathSegment)/native/\(rest)"
        try Change.showRevoking(RemoteGateway(for: invocation).call("DELETE", target), for: invocation)
    }

    @Sendable private static func list(_ invocation: Invocation) throws(CommandFailure) {
        let target = "/apps/\(try invocation.app().asPathSegment)/native"
        let answer = try RemoteGateway(for: invocation).call("GET", target)
        Output.show(answer, for: invocation) { answer in
            var rows = answer.items("ios").map { ["ios", $0.text("bundle_id"), "team \($0.text("team_id"))"] }
            for android in answer.items("android") {
                for print in android.texts("sha256") { rows.append(["android", android.text("package"), print]) }
            }
            return Output.table(["PLATFORM", "BUILD", "SIGNED BY"], rows, empty: "no builds registered")
        }
    }
}
