// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why a registry call did not do what it was asked.
package enum RegistryError: Error, Sendable, Equatable {
    /// The store failed; after `.deadline` the change may have been made.
    case store(StoreError)
    case organizationNotFound
    case appNotFound
    /// A name that must be unique belongs to another app: which kind of name, and its value.
    case taken(index: RegistryIndex, value: String)
    /// An organization or record of that id exists.
    case exists
    /// Others kept changing the same record.
    case contended
    /// The record as it is kept does not decode; its app stays closed until it is mended.
    case broken(reason: String)
    /// The change itself was refused by the code that made it: a stable code and a sentence.
    case rejected(code: String, message: String)
}

extension RegistryError {
    /// Why an app is closed, for logs.
    var reason: String {
        switch self {
        case .broken(let reason): reason
        case .rejected(_, let message): message
        case .store, .organizationNotFound, .appNotFound, .taken, .exists, .contended: "it could not be read"
        }
    }
}

/// The registry's unique names.
package enum RegistryIndex: String, Sendable {
    case appID = "ids"
    /// `organization/username`.
    case username = "names"
    case key = "keys"
}
