// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// One app credential of an organization with its three faces (App ID, username, record id), as it is kept.
///
/// The JSON of this type is what the registry stores under the record id. Times are milliseconds since 1970 in UTC.
/// A field that a reader does not know closes the app rather than opens it: decoding is strict about shapes.
package struct AppRecord: Codable, Sendable, Equatable {
    package var recordID: RecordID
    package var appID: AppID
    package var username: String
    package var organization: OrganizationID
    package var name: String
    package var createdAt: Int64
    /// Off: every request that names the app is refused `invalid_app` (OFF-100).
    package var isEnabled: Bool
    /// On: tokens already held are refused too (APP-088).
    package var isRevoked: Bool
    /// The dialects the app may be used through; by default only the one it was created for.
    package var dialects: [Dialect]
    /// Normalised origins, `scheme://host[:port]` (OFF-069).
    package var origins: [String]
    /// Normalised domains, `host[:port]` (APP-038).
    package var domains: [String]
    package var native: NativeIdentities
    package var check: CheckMode
    package var allowsDevelopmentBuilds: Bool
    package var allowsDebugTokens: Bool
    /// What a degraded Android device is worth; named as the status answer must name it.
    package var androidDegraded: DegradedPolicy
    package var isProduction: Bool
    /// When development mode ends; nil or past: off.
    package var developmentUntil: Int64?
    /// The lab whose proofs count as development for a while; nil: none.
    ///
    /// Never in force for a production app.
    package var labTrust: LabTrustRecord?
    /// Play Console's two keys, sealed for this app; nil: not set (APP-028).
    package var playKeys: SealedText?
    /// The service account that Google's API is asked with, sealed for this app; nil: the gateway's own.
    package var playAccount: SealedText?
    /// Keys of dialect vouch; nil: none were ever made.
    package var vouchKeys: [VouchKeyRecord]?
    /// What the app set for dialect vouch; nil: nothing.
    package var vouch: VouchSettings?
    package var keys: [APIKeyRecord]
    package var secret: HashedSecret?
    package var debugTokens: [DebugTokenRecord]

    package init(
        recordID: RecordID,
        appID: AppID,
        username: String,
        organization: OrganizationID,
        name: String,
        createdAt: Int64,
        dialects: [Dialect]
    ) {
        self.recordID = recordID
        self.appID = appID
        self.username = username
        self.organization = organization
        self.name = name
        self.createdAt = createdAt
        self.isEnabled = true
        self.isRevoked = false
        self.dialects = dialects
        self.origins = []
        self.domains = []
        self.native = NativeIdentities(ios: [], android: [])
        self.check = .off
        self.allowsDevelopmentBuilds = false
        self.allowsDebugTokens = false
        self.androidDegraded = .allow
        self.isProduction = false
        self.developmentUntil = nil
        self.labTrust = nil
        self.playKeys = nil
        self.playAccount = nil
        self.vouchKeys = nil
        self.vouch = nil
        self.keys = []
        self.secret = nil
        self.debugTokens = []
    }
}

/// The roots of a team's lab, in PEM, and when they stop counting for an app.
package struct LabTrustRecord: Codable, Sendable, Equatable {
    package var until: Int64
    package var appleRoot: String
    package var androidRoot: String
    /// The lab's two keys of Play Integrity tokens, sealed for the app; nil: none.
    package var playKeys: SealedText?
    package init(until: Int64, appleRoot: String, androidRoot: String) {
        self.until = until
        self.appleRoot = appleRoot
        self.androidRoot = androidRoot
    }
}

/// How an app may sign in (APP-080 to 082).
package enum CheckMode: String, Sendable, Codable, CaseIterable {
    case off, monitor, enforce
}

/// What a degraded Android device is worth to an app (OFF-095).
package enum DegradedPolicy: String, Sendable, Codable, CaseIterable {
    case allow, refuse
}

/// The native builds an app registered.
package struct NativeIdentities: Codable, Sendable, Equatable {
    package var ios: [IOSIdentity]
    package var android: [AndroidIdentity]
    package init(ios: [IOSIdentity], android: [AndroidIdentity]) {
        self.ios = ios
        self.android = android
    }
}

/// A bundle id with the team that signs it: one pair, never mixed with another's half.
package struct IOSIdentity: Codable, Sendable, Hashable {
    package var bundleID: String
    package var teamID: String
    package init(bundleID: String, teamID: String) {
        self.bundleID = bundleID
        self.teamID = teamID
    }
}

/// A package with the SHA-256 fingerprints (lower-case hex, 64 digits) of certificates that may have signed it.
package struct AndroidIdentity: Codable, Sendable, Hashable {
    package var package: String
    package var sha256: [String]
    package init(package: String, sha256: [String]) {
        self.package = package
        self.sha256 = sha256
    }
}

/// A secret as it is kept: a keyed hash and the id of the pepper that keyed it.
package struct HashedSecret: Codable, Sendable, Equatable {
    /// The pepper's key id.
    package var pepper: String
    /// HMAC-SHA-256, lower-case hex, 64 digits.
    package var hash: String
    package var createdAt: Int64
    package init(pepper: String, hash: String, createdAt: Int64) {
        self.pepper = pepper
        self.hash = hash
        self.createdAt = createdAt
    }
}

/// One API key of an app; the key itself was shown once and is not kept (SAL-008).
package struct APIKeyRecord: Codable, Sendable, Equatable {
    package var id: APIKeyID
    package var name: String
    package var secret: HashedSecret
    package init(id: APIKeyID, name: String, secret: HashedSecret) {
        self.id = id
        self.name = name
        self.secret = secret
    }
}

/// One debug token of an app (APP-075).
package struct DebugTokenRecord: Codable, Sendable, Equatable {
    package var id: String
    package var name: String
    package var prefix: String
    package var secret: HashedSecret
    package init(id: String, name: String, prefix: String, secret: HashedSecret) {
        self.id = id
        self.name = name
        self.prefix = prefix
        self.secret = secret
    }
}

/// An organization as it is kept.
package struct OrganizationRecord: Codable, Sendable, Equatable {
    package var id: OrganizationID
    package var name: String
    package var createdAt: Int64
    package var isEnabled: Bool
    package init(id: OrganizationID, name: String, createdAt: Int64) {
        self.id = id
        self.name = name
        self.createdAt = createdAt
        self.isEnabled = true
    }
}
