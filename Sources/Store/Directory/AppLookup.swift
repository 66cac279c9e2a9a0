// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials

/// What the directory knows about an app at this moment.
package enum AppLookup: Sendable {
    case known(App)
    /// There is no such app.
    case unknown
    /// Its record does not decode or compile: it is closed, whatever was presented.
    case broken(reason: String)
    /// Not seen yet: `load` it.
    case unresolved
    /// The store is away, or has been for longer than we may serve from memory: 503, never 401.
    case unavailable
}

/// What the directory knows about an origin or domain.
package enum SiteLookup: Sendable, Equatable {
    /// The organizations with an app that lists it; empty for a stranger.
    case known([OrganizationID])
    case unresolved
    case unavailable
}
