// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Testing

@Suite struct SpanWordsTests {
    @Test(arguments: [0, 1, 7, 8, 33, 500])
    func `the same bytes are the same, and one other byte is not`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
        let copy = Array(bytes)
        #expect(bytes.span.holdsSameBytes(as: copy.span))
        for place in copy.indices {
            var other = copy
            other[place] ^= 0x40
            #expect(!bytes.span.holdsSameBytes(as: other.span))
        }
        #expect(!bytes.span.holdsSameBytes(as: (copy + [0]).span))
    }
}
