// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// How a request names its app: which look-up the registry is to make.
///
/// The bytes to look up are in `PresentedCredentials`; this value only says which.
package enum AppNaming: Sendable, Equatable {
    /// By `X-App-Id`.
    case appID
    /// By `orgid` and the `appId` field, a username or a record id.
    case organizationAndName
    /// By the id inside the API key, which is well formed.
    case apiKey
    /// By the route's own `app:`.
    case route
    /// Only the bearer token can name it.
    case token
    /// Boxed, so that the other cases are a word to copy.
    indirect case refused(Refusal)

    /// Decides from the fields alone; allocates only for a refusal.
    ///
    /// `canSayOrganization`: false for a page's WebSocket, which sends no field of its own.
    package static func of(
        _ presented: borrowing PresentedCredentials,
        dialect: Dialect,
        routeNamesApp: Bool,
        canSayOrganization: Bool = true
    ) -> AppNaming {
        if presented.isAmbiguous { return .refused(Refusal(.ambiguousCredentials)) }
        switch dialect {
        case .offlineid:
            if presented.has(.appID) {
                return AppID.isWellFormed(presented.appID) ? .appID : .refused(.unknownApp(in: dialect))
            }
        case .appengine:
            if presented.has(.appName) {
                guard presented.has(.organization) else { return .refused(Refusal(.missingOrganization)) }
                return .organizationAndName
            }
        case .vouch: break
        }
        if presented.has(.apiKey), APIKeyText(parsing: presented.apiKey) != nil { return .apiKey }
        if routeNamesApp { return .route }
        // Every call of dialect C says its organization (APP-065), but a page's WebSocket cannot: its token does.
        if dialect == .appengine, canSayOrganization, !presented.has(.organization) {
            return .refused(Refusal(.missingOrganization))
        }
        if presented.has(.authorization) { return .token }
        return .refused(unnamed(presented, dialect: dialect))
    }

    private static func unnamed(_ presented: borrowing PresentedCredentials, dialect: Dialect) -> Refusal {
        if presented.has(.apiKey) {
            return Refusal(
                .appCredentialsRequired,
                missing: .credential,
                reason: "malformed_key",
                nextSteps: [NextSteps.mistypedKey]
            )
        }
        switch dialect {
        case .offlineid: return .appNotNamed
        case .appengine:
            return Refusal(.appCredentialsRequired, missing: .credential, reason: "missing_authorization")
        case .vouch:
            return Refusal(.appCredentialsRequired, missing: .credential)
        }
    }
}

extension AppID {
    /// The App ID that these bytes are: `app_` and 1 to 60 letters or digits.
    init?(presented bytes: Span<UInt8>) {
        guard Self.isWellFormed(bytes), let text = bytes.validText else { return nil }
        self.init(rawValue: text)
    }

    /// Whether the bytes have the form of an App ID; allocates nothing.
    package static func isWellFormed(_ bytes: Span<UInt8>) -> Bool {
        guard (5...64).contains(bytes.count), bytes.starts("app_") else { return false }
        return Base62.areDigits(bytes.extracting(droppingFirst: 4))
    }
}

/// What the registry found for a request: what a look-up comes to once it has been waited for.
package enum AppFinding: Sendable {
    case found(App)
    case unknown
    /// The registry cannot be asked now: 503, never 401.
    case unavailable
}
