// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings

/// The tenants' file: organizations and apps as they shall be.
///
/// What a field does not name is left alone.
struct TenantsFile: Equatable {
    struct Organization: Equatable {
        var id: OrganizationID
        var name: String?
        var apps: [App]
    }

    struct App: Equatable {
        var id: AppID
        var username: String?
        var name: String?
        var dialects: [Dialect]?
        var origins: [String]?
        var domains: [String]?
        var ios: [IOSIdentity]?
        var android: [AndroidIdentity]?
        var check: CheckMode?
        var developmentBuilds: Bool?
        var androidDegraded: DegradedPolicy?
        var production: Bool?
        var isEnabled: Bool?
    }

    var organizations: [Organization]

    /// Reads a file's text; every problem at once, with its line.
    init(parsing text: String, file: String) throws(ConfigurationProblems) {
        let document = YAMLDocument(parsing: Array(text.utf8))
        var reader = TenantsReader(file: file)
        for problem in document.problems { reader.report(problem.position, "", problem.sentence) }
        self.organizations = reader.organizations(document.root)
        guard reader.problems.isEmpty else { throw ConfigurationProblems(reader.problems) }
    }
}
