// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import FoundationEssentials
import Testing

@testable import Gateway

@Suite struct ConfigurationDocumentationTests {
    private static let start = "<!-- tables -->\n"
    private static let end = "<!-- end of tables -->\n"
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "config")

    @Test func `the README shows every key as the code has it, and no other`() throws {
        let file = Self.folder.appending(path: "README.md")
        var text = try String(decoding: Data(contentsOf: file), as: UTF8.self)
        let from = try #require(text.firstRange(of: Self.start)).upperBound
        let to = try #require(text.firstRange(of: Self.end)).lowerBound
        if ProcessInfo.processInfo.environment["SALLYPORT_RECORD"] == "1" {
            text.replaceSubrange(from..<to, with: ConfigurationSchema.documentation)
            try Data(text.utf8).write(to: file)
            return
        }
        let shown = text[from..<to].split(separator: "\n")
        let meant = ConfigurationSchema.documentation.split(separator: "\n")
        for line in shown where !meant.contains(line) {
            Issue.record("the README says what the code does not: \(line)")
        }
        for line in meant where !shown.contains(line) { Issue.record("the README lacks: \(line)") }
        #expect(shown == meant)
    }

    @Test func `every section of the file has its table`() {
        var paths = Set(ConfigurationSchema.sections.map(\.path))
        #expect(paths.count == ConfigurationSchema.sections.count)
        // Told once: they have the same keys as their sibling.
        paths.formUnion(["admin.tls", "admin.tls.certificates[]", "routes[].response_headers"])
        for section in ConfigurationSchema.sections {
            for row in section.rows where row.type == "section" || row.type == "list of section" {
                let path = section.path.isEmpty ? row.name : "\(section.path).\(row.name)"
                #expect(paths.contains(row.type == "section" ? path : path + "[]"), "\(path)")
            }
        }
    }

    @Test func `the example file means something`() throws {
        let path = Self.folder.appending(path: "sallyport.yaml").path
        let configuration = try Configuration.load(
            path: path,
            environment: [:],
            check: { _ in nil },
            surroundings: .unseen
        )
        #expect(configuration.routes.map(\.name) == ["api", "health"])
    }
}
