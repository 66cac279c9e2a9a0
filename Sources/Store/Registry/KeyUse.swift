// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// When and from where a key was last used.
package struct KeyUse: Sendable, Equatable {
    /// Milliseconds since 1970.
    package var at: Int64
    /// The client's network, a /24 or /48: enough to recognise a server, not a person.
    package var network: String

    package init(at: Int64, network: String) {
        self.at = at
        self.network = network
    }

    init?(parsing text: String) {
        guard let space = text.firstIndex(of: " "), let at = Int64(text[..<space]) else { return nil }
        self.init(at: at, network: String(text[text.index(after: space)...]))
    }

    var text: String { "\(at) \(network)" }
}
