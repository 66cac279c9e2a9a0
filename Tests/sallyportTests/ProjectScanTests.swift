// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import FoundationEssentials
import Testing

@testable import sallyport

@Suite final class ProjectScanTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "scan-\(UInt64.random(in: 0 ... .max))")

    deinit {
        do {
            try FileManager.default.removeItem(at: folder)
        } catch {
            Issue.record("\(error)")
        }
    }

    private func scan(_ files: [String: String]) throws -> [String] {
        for (path, text) in files {
            let file = folder.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: file)
        }
        return ProjectScan(folder.path).builds.map { "\($0.platform.rawValue) \($0.name) \($0.team ?? "-") \($0.file)" }
    }

    @Test func `an Expo project names its builds in app json`() throws {
        let app = #"{"expo":{"ios":{"bundleIdentifier":"com.example.a"},"android":{"package":"com.example.b"}}}"#
        #expect(try scan(["app.json": app]) == ["ios com.example.a - app.json", "android com.example.b - app.json"])
    }

    @Test func `an Xcode project tells bundle and team, and its tests are no builds`() throws {
        let project = """
            buildSettings = {
                DEVELOPMENT_TEAM = ABCDE12345;
                PRODUCT_BUNDLE_IDENTIFIER = com.example.fieldapp;
            };
            buildSettings = {
                DEVELOPMENT_TEAM = ABCDE12345;
                PRODUCT_BUNDLE_IDENTIFIER = "com.example.fieldapp";
            };
            buildSettings = {
                PRODUCT_BUNDLE_IDENTIFIER = "com.example.$(NAME)";
            };
            buildSettings = {
                PRODUCT_BUNDLE_IDENTIFIER = com.example.fieldappTests;
                TEST_HOST = "$(BUILT_PRODUCTS_DIR)/Field.app/Field";
            };
            """
        let file = "ios/Field.xcodeproj/project.pbxproj"
        #expect(try scan([file: project]) == ["ios com.example.fieldapp ABCDE12345 \(file)"])
    }

    @Test(arguments: [
        ("android/app/build.gradle", "        applicationId \"com.example.fieldapp\""),
        ("android/app/build.gradle.kts", "        applicationId = \"com.example.fieldapp\""),
        ("app/build.gradle", "  applicationId 'com.example.fieldapp'"),
    ])
    func `Gradle names the package`(file: String, line: String) throws {
        let text = "android {\n    namespace \"com.other\"\n\(line)\n        applicationIdSuffix \".debug\"\n}\n"
        #expect(try scan([file: text]) == ["android com.example.fieldapp - \(file)"])
    }

    @Test func `what two files say of one build is put together`() throws {
        let app = #"{"expo":{"ios":{"bundleIdentifier":"com.example.a"}}}"#
        let project =
            "buildSettings = {\nDEVELOPMENT_TEAM = ABCDE12345;\nPRODUCT_BUNDLE_IDENTIFIER = com.example.a;\n};"
        let found = try scan(["app.json": app, "ios/A.xcodeproj/project.pbxproj": project])
        #expect(found == ["ios com.example.a ABCDE12345 app.json"])
    }

    @Test func `a folder without a project has nothing`() throws {
        #expect(try scan(["app.json": "{", "README.md": "x"]) == [])
    }

    @Test(
        arguments: [
            (#"{"organizations":[{"id":"acme","apps":[{"id":"app_1"}]}]}"#, "app_1"),
            (#"{"organizations":[{"id":"acme","apps":[{"id":"app_1"},{"id":"app_2"}]}]}"#, nil),
            ("organizations: []", nil),
        ] as [(String, String?)]
    )
    func `the project file names the app where there is one`(text: String, app: String?) throws {
        _ = try scan([ProjectFile.name: text])
        #expect(ProjectFile.app(in: folder.path) == app)
    }
}
