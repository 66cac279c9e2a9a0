// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

extension RequestHead {
    /// All bytes of the head as it came.
    package var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get { fields.storage.bytes }
    }

    /// Where in `bytes` the value of the first `field` lies; nil when it did not come.
    @inlinable
    @inline(__always)
    package func valueRange(of field: KnownField) -> Range<Int>? {
        guard let index = fields.firstIndex(of: field) else { return nil }
        return valueRange(at: index)
    }

    /// Where in `bytes` the value of the field at `index` lies.
    @inlinable
    @inline(__always)
    package func valueRange(at index: Int) -> Range<Int> {
        let slot = fields.slots[index]
        return Int(slot.valueStart)..<Int(slot.valueEnd)
    }
}
