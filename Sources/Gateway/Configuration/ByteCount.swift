// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A number of bytes.
package struct ByteCount: Sendable, Hashable, Comparable {
    package var bytes: Int

    package init(bytes: Int) { self.bytes = bytes }

    package static func kibibytes(_ count: Int) -> ByteCount { ByteCount(bytes: count << 10) }
    package static func mebibytes(_ count: Int) -> ByteCount { ByteCount(bytes: count << 20) }

    package static func < (left: ByteCount, right: ByteCount) -> Bool { left.bytes < right.bytes }
}
