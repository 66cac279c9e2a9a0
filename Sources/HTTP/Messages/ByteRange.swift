// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A run of bytes inside a head's storage.
struct ByteRange: BitwiseCopyable, Equatable {
    var start: UInt32
    var end: UInt32

    @inline(__always)
    init(_ start: UInt32 = 0, _ end: UInt32 = 0) {
        self.start = start
        self.end = end
    }

    @inline(__always)
    init(_ start: Int, _ end: Int) {
        self.init(UInt32(truncatingIfNeeded: start), UInt32(truncatingIfNeeded: end))
    }

    @inline(__always)
    var isEmpty: Bool { start == end }

    @inline(__always)
    var count: Int { Int(end) - Int(start) }
}

extension Span<UInt8> {
    /// The bytes of `range`.
    @inline(__always)
    subscript(range: ByteRange) -> Span<UInt8> {
        @_lifetime(copy self)
        get { extracting(Int(range.start)..<Int(range.end)) }
    }
}
