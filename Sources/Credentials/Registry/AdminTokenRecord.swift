// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What somebody with an admin token may do.
package enum AdminRole: String, Sendable, Codable, CaseIterable {
    /// Everything.
    case platformAdmin = "platform-admin"
    /// Everything of the apps of one organization.
    case organizationAdmin = "org-admin"
    /// Looks, and changes nothing; of one organization where the token names one.
    case viewer
}

/// One token for the admin API as it is kept: named, hashed, with an end.
package struct AdminTokenRecord: Codable, Sendable, Equatable {
    /// `adm_` and 12 letters or digits; safe to log.
    package var id: String
    package var name: String
    package var role: AdminRole
    /// The only organization it is for; nil: all.
    package var organization: OrganizationID?
    package var secret: HashedSecret
    /// Milliseconds since 1970.
    package var expiresAt: Int64
    /// Who made it.
    package var by: String

    package init(
        id: String,
        name: String,
        role: AdminRole,
        organization: OrganizationID?,
        secret: HashedSecret,
        expiresAt: Int64,
        by: String
    ) {
        self.id = id
        self.name = name
        self.role = role
        self.organization = organization
        self.secret = secret
        self.expiresAt = expiresAt
        self.by = by
    }
}

/// The text of an admin token: `sallyadm_`, 12 characters of its id, 32 of secret (190 bits).
package enum AdminTokenText {
    package static let prefix = "sallyadm_"
    private static let idLength = 12
    private static let length = 53

    /// The id that a presented token names; nil where it is no admin token by its form.
    package static func id(in token: String) -> String? {
        let bytes = Array(token.utf8)
        guard bytes.count == length, token.hasPrefix(prefix), bytes[prefix.utf8.count...].allSatisfy(Base62.isDigit)
        else { return nil }
        let start = prefix.utf8.count
        return "adm_" + String(decoding: bytes[start..<start + idLength], as: UTF8.self)
    }
}
