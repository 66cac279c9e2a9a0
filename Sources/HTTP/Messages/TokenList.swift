// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Walks the members of a comma-separated field value (RFC 9110 5.6.1), empty ones left out.
///
/// Quoted strings are not understood: for lists of tokens such as `Connection`, `Upgrade` and `TE`.
package struct TokenList {
    private var next = 0

    /// A walk from the front.
    package init() {}

    /// The range of the next member of `value`, without surrounding whitespace; nil at the end.
    package mutating func nextMember(of value: Span<UInt8>) -> Range<Int>? {
        while next < value.count {
            var start = next
            var end = start
            while end < value.count, value[end] != 0x2c { end += 1 }
            next = end + 1
            while start < end, value[start] == 0x20 || value[start] == 0x09 { start += 1 }
            while end > start, value[end - 1] == 0x20 || value[end - 1] == 0x09 { end -= 1 }
            if start < end { return start..<end }
        }
        return nil
    }
}
