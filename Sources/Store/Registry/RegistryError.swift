// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why a registry call did not do what it was asked.
package enum RegistryError: Error, Sendable {
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

extension RegistryError: Equatable {
    /// Equality of kind, names and codes; prose does not count.
    package static func == (left: RegistryError, right: RegistryError) -> Bool {
        switch (left, right) {
        case (.store(let one), .store(let other)): one == other
        case (.taken(let index, let value), .taken(let otherIndex, let otherValue)):
            index == otherIndex && value == otherValue
        case (.rejected(let code, _), .rejected(let other, _)): code == other
        case (.organizationNotFound, .organizationNotFound), (.appNotFound, .appNotFound), (.exists, .exists),
            (.contended, .contended), (.broken, .broken):
            true
        case (.store, _), (.organizationNotFound, _), (.appNotFound, _), (.taken, _), (.exists, _), (.contended, _),
            (.broken, _), (.rejected, _):
            false
        }
    }
}

extension RegistryError {
    /// Why an app is closed, for logs.
    package var reason: String {
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
