// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Testing

@Suite struct SpanWordsTests {
    private func areSame(_ left: [UInt8], _ right: [UInt8]) -> Bool { left.span.holdsSameBytes(as: right.span) }

    @Test(arguments: [0, 1, 7, 8, 33, 500])
    func `the same bytes are the same, and one other byte is not`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
        #expect(areSame(bytes, Array(bytes)))
        for place in bytes.indices {
            var other = bytes
            other[place] ^= 0x40
            #expect(!areSame(bytes, other))
        }
        #expect(!areSame(bytes, bytes + [0]))
    }
}
