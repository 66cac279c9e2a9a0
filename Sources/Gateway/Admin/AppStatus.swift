// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings

extension AdminRoutes {
    /// An app whole: what is registered for each platform, what is missing and the commands that add it (OFF-133).
    func status(of record: AppRecord) -> JSONValue {
        let native = record.native
        return .object(
            describe(record) + [
                ("origins", .texts(record.origins)), ("domains", .texts(record.domains)),
                ("development", development(of: record)), ("lab_trust", labTrust(of: record)),
                ("development_builds", .bool(record.allowsDevelopmentBuilds)),
                ("androidDegraded", .string(record.androidDegraded.rawValue)),
                ("debug_tokens", .bool(record.allowsDebugTokens)),
                ("api_keys", .integer(record.keys.count)), ("play", .object(playKeys(of: record))),
                (
                    "platforms",
                    .array([
                        platform(
                            "web",
                            record.origins + record.domains.map { "domain \($0)" },
                            record.addsWebsite,
                            record
                        ),
                        platform(
                            "server",
                            record.keys.map { "key \($0.name)" },
                            record.addsServer,
                            record
                        ),
                        platform(
                            "ios",
                            native.ios.map { "\($0.bundleID), team \($0.teamID)" },
                            AppRecord.addsApple,
                            record
                        ),
                        platform(
                            "android",
                            native.android.map { "\($0.package), \($0.sha256.count) certificates" },
                            AppRecord.addsAndroid,
                            record
                        ),
                    ])
                ),
            ]
        )
    }

    private func platform(
        _ name: String,
        _ registered: [String],
        _ command: String,
        _ record: AppRecord
    ) -> JSONValue {
        .object([
            ("platform", .string(name)), ("registered", .texts(registered)),
            ("commands", .texts(registered.isEmpty ? ["\(command) --app \(record.appID.rawValue)"] : [])),
        ])
    }

    /// OFF-134 and OFF-135: the end is null when the mode is off; the command is null for a production app.
    private func development(of record: AppRecord) -> JSONValue {
        let until = record.developmentUntil.flatMap { $0 > now() ? $0 : nil }
        let isAvailable = !record.isProduction
        return .object([
            ("active", .bool(until != nil)), ("until", .optional(until.map(text))), ("available", .bool(isAvailable)),
            ("command", isAvailable ? .string("sallyport dev-mode on --hours 24") : .null),
        ])
    }
}

extension AppRecord {
    static let addsApple = "sallyport native add ios --bundle-id B --team-id T"
    fileprivate static let addsAndroid = "sallyport native add android --package P --sha256 F"

    /// What a new app needs before anybody comes in; pages have no place in `vouch`.
    var firstSteps: [String] {
        switch dialects.first {
        case .vouch: [Self.addsApple, Self.addsAndroid, addsServer]
        case .appengine, .offlineid, nil: [addsWebsite, addsServer]
        }
    }

    /// The command that lets a website in, in the app's first dialect.
    var addsWebsite: String {
        dialects.first == .appengine ? "sallyport domains add DOMAIN" : "sallyport origins add ORIGIN"
    }

    /// The command that lets a server, or with `vouch` a build's SDK, in.
    var addsServer: String {
        switch dialects.first {
        case .appengine: "sallyport secret rotate"
        case .vouch: "sallyport keys create --kind sdk --name NAME"
        case .offlineid, nil: "sallyport keys create --name NAME"
        }
    }
}
