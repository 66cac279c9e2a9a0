// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What a JSON text may cost before it is refused.
package struct JSONLimits: Sendable {
    /// The longest text.
    package var bytes: Int
    /// The deepest nesting.
    package var depth: Int
    /// The most values in the whole text.
    package var values: Int

    /// Limits of these sizes.
    package init(bytes: Int, depth: Int, values: Int) {
        self.bytes = bytes
        self.depth = depth
        self.values = values
    }

    /// For request bodies and tokens: 64 KiB, 16 deep, 4,096 values.
    package static let request = JSONLimits(bytes: 65_536, depth: 16, values: 4_096)
    /// For documents of a known sender, such as key sets and status lists: 16 MiB, 32 deep, a million values.
    package static let document = JSONLimits(bytes: 16 << 20, depth: 32, values: 1 << 20)
}
