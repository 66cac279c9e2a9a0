// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension [UInt8] {
    /// Appends a copy of `span` at once: byte by byte a megabyte takes milliseconds.
    package mutating func append(contentsOf span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
