// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// An organization's name, the tenant: 1 to 63 lower-case letters, digits and `-`.
package struct OrganizationID: Hashable, Sendable, Codable, RawRepresentable {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// The public identifier of an app, `app_` and 1 to 60 letters or digits; unique over all organizations (OFF-001).
package struct AppID: Hashable, Sendable, Codable, RawRepresentable {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// The record id of an app: 24 lower-case hexadecimal digits, never reused (APP-001).
package struct RecordID: Hashable, Sendable, Codable, RawRepresentable {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// The name of one API key of an app: `key_` and 12 characters; safe to log, unlike the key.
package struct APIKeyID: Hashable, Sendable, Codable, RawRepresentable {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// A family of public endpoints and answer shapes.
package enum Dialect: String, Sendable, Codable, CaseIterable {
    case offlineid, vouch, appengine
}
