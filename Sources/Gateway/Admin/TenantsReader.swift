// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings

/// Walks the tree of a tenants' file and gathers what is wrong with it.
struct TenantsReader {
    let file: String
    var problems: [ConfigurationProblem] = []

    init(file: String) {
        self.file = file
    }

    mutating func report(_ position: YAMLPosition?, _ path: String, _ expectation: String, found: String? = nil) {
        problems.append(
            ConfigurationProblem(
                file: file,
                line: position?.line ?? 0,
                column: position?.column ?? 0,
                path: path,
                found: found,
                expectation: expectation,
                hint: nil
            )
        )
    }

    mutating func organizations(_ root: YAMLNode?) -> [TenantsFile.Organization] {
        guard let root else {
            if problems.isEmpty { report(nil, "", "the file is empty; expected version: 1 and organizations:") }
            return []
        }
        let members = mapping(root, "", known: ["version", "organizations"])
        if let version = members["version"], text(version, "version") != "1" {
            report(version.position, "version", "expected 1")
        } else if members["version"] == nil {
            report(root.position, "version", "missing; expected version: 1")
        }
        var seen: Set<String> = []
        return sequence(members["organizations"], "organizations").enumerated().compactMap { index, node in
            let path = "organizations[\(index)]"
            let members = mapping(node, path, known: ["id", "name", "apps"])
            guard let id = required(members["id"], node, "\(path).id") else { return nil }
            if !OrganizationID(rawValue: id).isWellFormed {
                report(members["id"]?.position, "\(path).id", "expected lower-case letters, digits and -", found: id)
            }
            if !seen.insert(id).inserted { report(members["id"]?.position, "\(path).id", "named twice", found: id) }
            let apps = sequence(members["apps"], "\(path).apps").enumerated().compactMap { number, app in
                self.app(app, "\(path).apps[\(number)]", &seen)
            }
            let name = members["name"].flatMap { self.name($0, "\(path).name") }
            return TenantsFile.Organization(id: OrganizationID(rawValue: id), name: name, apps: apps)
        }
    }

    private static let appKeys = [
        "id", "username", "name", "dialects", "origins", "domains", "native", "check", "development_builds",
        "android_degraded", "production", "enabled",
    ]

    private mutating func app(_ node: YAMLNode, _ path: String, _ seen: inout Set<String>) -> TenantsFile.App? {
        let members = mapping(node, path, known: Self.appKeys)
        guard let id = required(members["id"], node, "\(path).id") else { return nil }
        if !AppID(rawValue: id).isWellFormed {
            report(members["id"]?.position, "\(path).id", "expected app_ and 1 to 60 letters or digits", found: id)
        }
        if !seen.insert(id).inserted { report(members["id"]?.position, "\(path).id", "named twice", found: id) }
        var app = TenantsFile.App(id: AppID(rawValue: id))
        app.username = members["username"].flatMap { text($0, "\(path).username") }
        if let username = app.username, !NewNames.isUsername(username) {
            report(members["username"]?.position, "\(path).username", "expected lower-case letters, digits, - . _")
        }
        app.name = members["name"].flatMap { name($0, "\(path).name") }
        app.dialects = members["dialects"].map { words($0, "\(path).dialects") }
        app.origins = members["origins"].map { sites($0, "\(path).origins", SiteNormalizer.origin(adding:)) }
        app.domains = members["domains"].map { sites($0, "\(path).domains", SiteNormalizer.domain(adding:)) }
        if let native = members["native"] { readNative(native, "\(path).native", into: &app) }
        app.check = members["check"].flatMap { word($0, "\(path).check") }
        app.developmentBuilds = members["development_builds"].flatMap { flag($0, "\(path).development_builds") }
        app.androidDegraded = members["android_degraded"].flatMap { word($0, "\(path).android_degraded") }
        app.production = members["production"].flatMap { flag($0, "\(path).production") }
        app.isEnabled = members["enabled"].flatMap { flag($0, "\(path).enabled") }
        return app
    }

    private mutating func name(_ node: YAMLNode, _ path: String) -> String? {
        guard let name = text(node, path) else { return nil }
        if !NewNames.isName(name) {
            report(node.position, path, "expected \(NewNames.nameRule)")
        }
        return name
    }

    private mutating func readNative(_ node: YAMLNode, _ path: String, into app: inout TenantsFile.App) {
        let members = mapping(node, path, known: ["ios", "android"])
        if let ios = members["ios"] {
            app.ios = sequence(ios, "\(path).ios").enumerated().compactMap { index, node in
                let place = "\(path).ios[\(index)]"
                let members = mapping(node, place, known: ["bundle_id", "team_id"])
                guard let bundle = required(members["bundle_id"], node, "\(place).bundle_id"),
                    let team = required(members["team_id"], node, "\(place).team_id")
                else { return nil }
                if !NativeNames.isBundleID(bundle) {
                    report(node.position, "\(place).bundle_id", "expected a bundle id")
                }
                if !NativeNames.isTeamID(team) {
                    report(node.position, "\(place).team_id", "expected ten capitals or digits")
                }
                return IOSIdentity(bundleID: bundle, teamID: team)
            }
        }
        if let android = members["android"] {
            app.android = sequence(android, "\(path).android").enumerated().compactMap { index, node in
                let place = "\(path).android[\(index)]"
                let members = mapping(node, place, known: ["package", "sha256"])
                guard let package = required(members["package"], node, "\(place).package") else { return nil }
                let prints = texts(members["sha256"], "\(place).sha256").compactMap { text, position in
                    let print = NativeNames.fingerprint(text)
                    if print == nil {
                        report(position, "\(place).sha256", "expected 64 hexadecimal digits", found: text)
                    }
                    return print
                }
                if !NativeNames.isBundleID(package) {
                    report(node.position, "\(place).package", "expected a package name")
                }
                if prints.isEmpty { report(node.position, "\(place).sha256", "expected at least one fingerprint") }
                return AndroidIdentity(package: package, sha256: prints)
            }
        }
    }

    // MARK: Shapes

    private mutating func mapping(_ node: YAMLNode, _ path: String, known: [String]) -> [String: YAMLNode] {
        guard case .mapping(let members) = node.content else {
            report(node.position, path, "expected a mapping of \(known.joined(separator: ", "))")
            return [:]
        }
        var values: [String: YAMLNode] = [:]
        for member in members {
            if known.contains(member.key) {
                values[member.key] = member.value
            } else {
                let place = path.isEmpty ? member.key : "\(path).\(member.key)"
                report(member.position, place, "unknown key; expected one of \(known.joined(separator: ", "))")
            }
        }
        return values
    }

    private mutating func sequence(_ node: YAMLNode?, _ path: String) -> [YAMLNode] {
        guard let node, !node.isNull else { return [] }
        guard case .sequence(let items) = node.content else {
            report(node.position, path, "expected a list")
            return []
        }
        return items
    }

    private mutating func text(_ node: YAMLNode, _ path: String) -> String? {
        guard case .scalar(let text, _) = node.content, !text.isEmpty else {
            report(node.position, path, "expected a text")
            return nil
        }
        return text
    }

    private mutating func required(_ node: YAMLNode?, _ parent: YAMLNode, _ path: String) -> String? {
        guard let node else {
            report(parent.position, path, "missing")
            return nil
        }
        return text(node, path)
    }

    /// A list of texts; a single text stands for a list of one.
    private mutating func texts(_ node: YAMLNode?, _ path: String) -> [(text: String, position: YAMLPosition)] {
        guard let node, !node.isNull else { return [] }
        if case .scalar(let text, _) = node.content { return [(text, node.position)] }
        return sequence(node, path).enumerated().compactMap { index, item in
            text(item, "\(path)[\(index)]").map { ($0, item.position) }
        }
    }

    private mutating func sites(
        _ node: YAMLNode,
        _ path: String,
        _ normalise: (String) -> Result<String, SiteProblem>
    ) -> [String] {
        var normal: [String] = []
        for (text, position) in texts(node, path) {
            switch normalise(text) {
            case .success(let site): if !normal.contains(site) { normal.append(site) }
            case .failure(let problem): report(position, path, problem.sentence, found: text)
            }
        }
        return normal
    }

    private mutating func flag(_ node: YAMLNode, _ path: String) -> Bool? {
        if case .scalar(let text, isPlain: true) = node.content, let flag = Bool(text) { return flag }
        report(node.position, path, "expected true or false")
        return nil
    }

    private mutating func word<Word: RawRepresentable & CaseIterable>(
        _ node: YAMLNode,
        _ path: String
    ) -> Word? where Word.RawValue == String {
        guard let text = text(node, path) else { return nil }
        if let word = Word(rawValue: text) { return word }
        report(
            node.position,
            path,
            "expected one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))",
            found: text
        )
        return nil
    }

    private mutating func words<Word: RawRepresentable & CaseIterable>(
        _ node: YAMLNode,
        _ path: String
    ) -> [Word] where Word.RawValue == String {
        sequence(node, path).enumerated().compactMap { index, item in word(item, "\(path)[\(index)]") }
    }
}
