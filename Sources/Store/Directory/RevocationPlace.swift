// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials

/// Where the revocations of one token would be found: the digests of its id and of everything it was made for.
///
/// Made once when a token is verified, so that a request with a known token hashes nothing.
package struct RevocationPlace: Sendable {
    let token: Int?
    let app: Int?
    let person: Int?
    let device: Int?
    let key: Int?

    /// The place of a verified token; whose organization and app an outside token is used with is not known yet, so
    /// that those watermarks are asked apart.
    package init(of facts: TokenFacts) {
        switch facts.source {
        case .own(let own):
            token = facts.tokenID.map { digestOf(.token, $0.utf8.span) }
            app = RevocationSubject.app(own.app).digest
            person = facts.person.map { RevocationSubject.person(own.organization, $0).digest }
            device = own.device.map { RevocationSubject.device(own.app, $0).digest }
            key = own.apiKey.map { RevocationSubject.key($0).digest }
        case .outside:
            token = facts.tokenID.map { digestOf(.token, $0.utf8.span) }
            app = nil
            person = nil
            device = nil
            key = nil
        }
    }
}
