// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// What the files of a client's project say of its builds; reads, never writes.
struct ProjectScan {
    /// One build that an app may register.
    struct Build: Equatable {
        enum Platform: String {
            case ios, android
        }

        let platform: Platform
        /// The bundle ID or the package name.
        let name: String
        /// iOS: the Team ID, where the file names it.
        var team: String?
        /// Where it was found, relative to the project.
        let file: String

        /// The command that registers it; what no file tells stands in angle brackets.
        var command: String {
            switch platform {
            case .ios: "sallyport native add ios --bundle-id \(name) --team-id \(team ?? "<Team ID>")"
            case .android: "sallyport native add android --package \(name) --sha256 <certificate SHA-256>"
            }
        }
    }

    /// Where builds are looked for, for people.
    static let places = ["app.json", "*.xcodeproj", "ios/*.xcodeproj", "android/app/build.gradle", "app/build.gradle"]

    private(set) var builds: [Build] = []
    private let directory: String

    /// Looks through the project in `directory`.
    init(_ directory: String) {
        self.directory = directory
        scanExpo()
        for folder in ["", "ios/"] { scanXcode(folder) }
        for folder in ["android/app/", "app/"] {
            for name in ["build.gradle", "build.gradle.kts"] { scanGradle(folder + name) }
        }
    }

    var json: JSONValue {
        func object(_ build: Build, _ name: String) -> [(String, JSONValue)] {
            [(name, .string(build.name)), ("file", .string(build.file)), ("command", .string(build.command))]
        }
        let ios = builds.filter { $0.platform == .ios }.map { build in
            JSONValue.members(
                object(build, "bundle_id") + [("team_id", build.team.map(JSONValue.string) ?? .null)]
            )
        }
        let android = builds.filter { $0.platform == .android }.map { JSONValue.members(object($0, "package")) }
        return .members([("ios", .array(ios)), ("android", .array(android))])
    }

    // MARK: Files

    /// Expo: `expo.ios.bundleIdentifier` (and `appleTeamId`), `expo.android.package`.
    private mutating func scanExpo() {
        guard let text = read("app.json") else { return }
        let root: JSONValue
        do {
            root = try JSONValue(parsing: Array(text.utf8), limits: .document)
        } catch {
            return
        }
        let expo = root["expo"] ?? root
        if let name = expo["ios"]?["bundleIdentifier"]?.string {
            add(Build(platform: .ios, name: name, team: expo["ios"]?["appleTeamId"]?.string, file: "app.json"))
        }
        if let name = expo["android"]?["package"]?.string {
            add(Build(platform: .android, name: name, file: "app.json"))
        }
    }

    /// The build settings of an Xcode project's targets; what only runs tests signs nobody in.
    private mutating func scanXcode(_ folder: String) {
        for project in names(folder) where project.hasSuffix(".xcodeproj") {
            let file = "\(folder)\(project)/project.pbxproj"
            guard let text = read(file) else { continue }
            for block in text.split(separator: "buildSettings = {") {
                let settings = Self.settings(block)
                guard settings["TEST_HOST"] == nil, settings["TEST_TARGET_NAME"] == nil,
                    let name = settings["PRODUCT_BUNDLE_IDENTIFIER"]
                else { continue }
                add(Build(platform: .ios, name: name, team: settings["DEVELOPMENT_TEAM"], file: file))
            }
        }
    }

    /// `NAME = value;` lines up to the block's end.
    private static func settings(_ block: Substring) -> [String: String] {
        var settings: [String: String] = [:]
        for line in block.split(separator: "\n") {
            let words = line.filter { $0 != "\t" && $0 != " " && $0 != "\"" }
            if words == "};" { break }
            guard let cut = words.firstIndex(of: "="), words.last == ";" else { continue }
            let value = words[words.index(after: cut)...].dropLast()
            if !value.isEmpty { settings[String(words[..<cut])] = String(value) }
        }
        return settings
    }

    /// `applicationId "…"` of Groovy, `applicationId = "…"` of Kotlin.
    private mutating func scanGradle(_ file: String) {
        guard let text = read(file) else { return }
        for line in text.split(separator: "\n") {
            let words = line.drop { $0 == " " || $0 == "\t" }
            guard words.hasPrefix("applicationId ") || words.hasPrefix("applicationId=") else { continue }
            let parts = words.split(omittingEmptySubsequences: false) { $0 == "\"" || $0 == "'" }
            if parts.count >= 3 { add(Build(platform: .android, name: String(parts[1]), file: file)) }
        }
    }

    // MARK: Parts

    /// Keeps a build once; a name that still holds a variable is none.
    private mutating func add(_ build: Build) {
        guard NativeNames.isBundleID(build.name) else { return }
        var build = build
        if let team = build.team, !NativeNames.isTeamID(team) { build.team = nil }
        let known = builds.firstIndex { $0.platform == build.platform && $0.name == build.name }
        guard let known else { return builds.append(build) }
        if builds[known].team == nil { builds[known].team = build.team }
    }

    private func read(_ file: String) -> String? {
        guard case .success(let bytes) = Files.read("\(directory)/\(file)") else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func names(_ folder: String) -> [String] {
        do {
            return try SmallFile.names(in: folder.isEmpty ? directory : "\(directory)/\(folder)")
        } catch {
            return []
        }
    }
}
