// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// An organization's name, the tenant: 1 to 63 lower-case letters, digits and `-`.
package struct OrganizationID: Hashable, Sendable, Codable, RawRepresentable {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Whether the text has the form of one.
    package var isWellFormed: Bool {
        (1...63).contains(rawValue.utf8.count)
            && rawValue.utf8.allSatisfy { byte in
                (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
            }
    }
}

/// The public identifier of an app, `app_` and 1 to 60 letters or digits; unique over all organizations (OFF-001).
package struct AppID: Hashable, Sendable, Codable, RawRepresentable {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Whether the text has the form of one.
    package var isWellFormed: Bool { Self.isWellFormed(rawValue.utf8.span) }
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
