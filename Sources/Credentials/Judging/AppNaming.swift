// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// How a request names its app: which look-up the registry is to make.
///
/// The bytes to look up are in `PresentedCredentials`; this value only says which.
package enum AppNaming: Sendable, Equatable {
    /// By `X-App-Id`.
    case appID
    /// By `orgid` and the `appId` field, a username or a record id.
    case organizationAndName
    /// By the id inside the API key.
    case apiKey
    /// By the route's own `app:`.
    case route
    /// Only a token can name it.
    case token
    case refused(Refusal)

    /// Decides from the fields alone; allocates only for a refusal.
    package static func of(
        _ presented: borrowing PresentedCredentials,
        dialect: Dialect,
        routeNamesApp: Bool
    ) -> AppNaming {
        .refused(Refusal(.invalidApp))
    }
}

/// What the registry said to a look-up.
package enum AppLookup: Sendable {
    case found(App)
    case unknown
    /// The registry cannot be asked now: 503, never 401.
    case unavailable
}
