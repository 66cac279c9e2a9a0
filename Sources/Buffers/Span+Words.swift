// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension Span<UInt8> {
    /// The eight bytes from `offset` on, first byte lowest: one checked load for readers that compare words.
    @inlinable @inline(__always)
    package func word(at offset: Int) -> UInt64 {
        precondition(offset >= 0 && offset <= count &- 8, "read past the end of a span")
        return unsafe UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
    }
}
