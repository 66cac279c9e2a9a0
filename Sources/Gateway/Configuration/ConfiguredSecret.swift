// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A secret that the file named by `${env:NAME}` or `${file:path}`; it never describes itself.
package struct ConfiguredSecret: Sendable, Equatable {
    /// The reference as written, safe to print.
    package let reference: String
    /// The secret's bytes, without a trailing line end.
    package let bytes: [UInt8]

    package init(reference: String, bytes: [UInt8]) {
        self.reference = reference
        self.bytes = bytes
    }
}

extension ConfiguredSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { reference }
    package var debugDescription: String { reference }
    package var customMirror: Mirror { Mirror(self, children: ["reference": reference]) }
}
