// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The one normaliser of origins (OFF-069) and domains (APP-038): pure, with the tables of the specification as tests.
package enum SiteNormalizer {
    /// Normalises what an administrator adds as an origin; path, query and fragment are dropped.
    package static func origin(adding text: String) -> Result<String, SiteProblem> { .failure(.empty) }

    /// Normalises an `Origin` field: like `adding`, but nothing may follow the authority but one slash.
    package static func origin(presented text: String) -> Result<String, SiteProblem> { .failure(.empty) }

    /// Normalises what an administrator adds as a domain, or a page presents as one.
    package static func domain(adding text: String) -> Result<String, SiteProblem> { .failure(.empty) }

    /// Whether the bytes are surely in normal form, so that a failed look-up is final.
    package static func isNormalOrigin(_ origin: Span<UInt8>) -> Bool { false }
}

/// Why a text is no website address.
package enum SiteProblem: Error, Equatable, Sendable {
    case empty, scheme, userInformation, wildcard, space, host, label, port, address, null
}
