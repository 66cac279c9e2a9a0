// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// An OBJECT IDENTIFIER, kept as its encoded contents.
package struct OID: Hashable, Sendable {
    /// The base-128 contents.
    package let contents: [UInt8]

    /// The identifier of these components, the first two of which share a byte.
    package init(_ components: UInt...) {
        precondition(components.count >= 2, "an object identifier has two components at least")
        var contents: [UInt8] = []
        for component in [components[0] * 40 + components[1]] + components.dropFirst(2) {
            var groups = [UInt8(component & 127)]
            var rest = component >> 7
            while rest > 0 {
                groups.append(UInt8(rest & 127) | 128)
                rest >>= 7
            }
            contents += groups.reversed()
        }
        self.contents = contents
    }

    /// The identifier of these encoded contents.
    package init(contents: [UInt8]) {
        self.contents = contents
    }
}
