// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
import Store

/// A token whose signature and claims hold, as a worker keeps it: what it says, and where its revocation would be.
package final class VerifiedToken: Sendable {
    package let facts: TokenFacts
    /// Where a revocation of it would be found.
    let revocation: RevocationPlace
    /// Whether an outside issuer made it: watermarks then depend on the app it is used with.
    let isOutside: Bool

    init(_ facts: TokenFacts) {
        self.facts = facts
        revocation = RevocationPlace(of: facts)
        if case .outside = facts.source { isOutside = true } else { isOutside = false }
    }
}
