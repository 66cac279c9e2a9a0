// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A value that no description, dump or interpolation shows.
package struct Secret<Value: Sendable>: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The value itself; every reader of this property is a place to look at in review.
    package let exposed: Value

    package init(_ value: Value) {
        self.exposed = value
    }

    package var description: String { "[secret]" }
    package var debugDescription: String { "[secret]" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret: Equatable where Value: Equatable {}
