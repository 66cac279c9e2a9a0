// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
import Encodings

/// Something small that all nodes share: one JSON text with a version, changed like a record of the registry.
///
/// A change is written with its history row and its change-stream entry by one script, iff nobody was faster.
package protocol SharedDocument: Codable, Sendable, Equatable {
    /// Its name in Redis, and the kind of its notices.
    static var kind: RegistryNotice.Kind { get }
    /// What it is before anybody wrote it.
    init()
}

/// The ring of keys that sign our tokens, sealed.
package struct SigningDocument: SharedDocument {
    package static let kind = RegistryNotice.Kind.signing
    /// Newest first.
    package var keys: [SigningKeyRecord] = []

    package init() {}
}

/// Which keys at rest are in use: the ids only, never a key.
package struct KeyringDocument: SharedDocument {
    package static let kind = RegistryNotice.Kind.keyring
    /// The id of the key that seals; nil before the first start.
    package var seal: String?
    /// The id of the pepper that hashes.
    package var pepper: String?
    /// Ids that were in use once; they open and verify what still names them, and are never taken up again.
    package var retired: [String] = []

    package init() {}
}

/// The tokens of the admin API.
package struct AdminTokensDocument: SharedDocument {
    package static let kind = RegistryNotice.Kind.adminTokens
    package var tokens: [AdminTokenRecord] = []

    package init() {}
}

/// A document with the version it was read at.
package struct VersionedDocument<Document: SharedDocument>: Sendable, Equatable {
    package var document: Document
    /// 0: not written yet.
    package var version: Int
}
