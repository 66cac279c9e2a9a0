// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The acts that mend a refusal, as they are told to people (OFF-128: commands first).
package enum NextSteps {
    static let listApps = "sallyport apps list"
    static let serverKey = "Or send an API key of the application from your server."
    static let mistypedKey = "The API key is mistyped: its checksum does not match."
    static let opaqueOrigin = "An opaque origin cannot be listed; serve the page over http or https."
    static let signInAgain = "Sign in again."
    static let attestAgain = "Attest again."
    static let nameApp = "Send its App ID as X-App-Id, or one of its API keys as X-Api-Key."

    /// The command that lists this origin, or why none does; only the normal form is ever
    /// printed, which is safe to paste.
    static func allow(_ origin: Span<UInt8>, dialect: Dialect) -> String {
        guard let text = origin.validText, case .success(let normal) = SiteNormalizer.origin(presented: text) else {
            return opaqueOrigin
        }
        switch dialect {
        case .offlineid, .vouch: return "sallyport origins add \(normal)"
        case .appengine:
            guard case .success(let domain) = SiteNormalizer.domain(adding: normal) else { return opaqueOrigin }
            return "sallyport domains add \(domain)"
        }
    }

    static func addOrigin(dialect: Dialect) -> String {
        switch dialect {
        case .offlineid, .vouch: "sallyport origins add <origin>"
        case .appengine: "sallyport domains add <domain>"
        }
    }

    /// Names no organization: who asks may know no more than the app's name.
    static let organization = "Name the app's organization in access.organizations of the route."

    static let sameOrganization = "Send the orgid of the organization that the app belongs to."

    package static let registerApple = "sallyport native add ios --bundle-id <bundle id> --team-id <team id>"
    package static let registerNative = [registerApple, registerAndroid(nil), "sallyport apply"]

    /// A package is filled in where it is known, so that the command can be pasted (OFF-131).
    package static func registerAndroid(_ package: String?) -> String {
        "sallyport native add android --package \(package ?? "<package>") --sha256 <certificate SHA-256>"
    }

    package static let attest = "Pass attestation providers to the SDK."
    package static let developmentMode = "sallyport dev-mode on --hours 24"
    package static let registeredBuild = "Sign in from a registered build on a physical device."
    package static let newKey = "Register a new key and try again."
    package static let plainJSON = "Send application/json in UTF-8, without a content coding."

    /// A production app has no development mode to turn on (OFF-088, OFF-089): no step names what would be refused.
    package static func developmentEnded(isProduction: Bool) -> [String] {
        ["Sign in again from an attested build."] + (isProduction ? [] : [developmentMode])
    }
}

extension Refusal {
    /// A page of an origin that no app lists, with the command that would list it.
    package static func unlisted(origin: String, dialect: Dialect) -> Refusal {
        Refusal(.originNotAllowed, nextSteps: [NextSteps.allow(origin.utf8.span, dialect: dialect)])
    }

    /// The app is unknown, or not for this dialect: told apart by nobody outside (OFF-011, APP-015).
    package static func unknownApp(in dialect: Dialect, named appID: AppID? = nil) -> Refusal {
        switch dialect {
        case .offlineid, .vouch: Refusal(.invalidApp, appID: appID, nextSteps: [NextSteps.listApps])
        // E.1: no credential that the route takes. That there is no such app is told at the sign-in only (C.1).
        case .appengine: Refusal(.appCredentialsRequired, missing: .credential)
        }
    }

    /// The request says of no app that it speaks for it.
    static var appNotNamed: Refusal {
        var refusal = Refusal(.invalidApp, nextSteps: [NextSteps.listApps, NextSteps.nameApp])
        refusal.sentence = "This request names no application."
        return refusal
    }

    /// The app is disabled or revoked.
    static func closedApp(_ app: App, in dialect: Dialect) -> Refusal {
        switch dialect {
        case .offlineid, .vouch: Refusal(.invalidApp, appID: app.appID, nextSteps: [NextSteps.listApps])
        case .appengine: Refusal(.appRevoked, appID: app.appID)
        }
    }

    /// State that is needed to judge is away (E.1).
    package static let stateAway = Refusal(.stateUnavailable, retryAfter: 1)
}
