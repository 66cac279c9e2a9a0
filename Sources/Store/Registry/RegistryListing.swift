// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What a list of the registry holds, and what is wrong with it.
package struct RegistryListing<Element: Sendable>: Sendable {
    /// What could be read.
    package var elements: [Element]
    /// What could not be read, or is not used as it is.
    package var problems: [RegistryProblem]

    package init(_ elements: [Element] = [], problems: [RegistryProblem] = []) {
        self.elements = elements
        self.problems = problems
    }
}

/// Something of the registry that a list lacks, or that the gateway does not use as it is.
package struct RegistryProblem: Sendable, Equatable {
    /// What it is, such as `app 65f0…`.
    package var what: String
    package var reason: String

    package init(_ what: String, _ reason: String) {
        self.what = what
        self.reason = reason
    }
}
