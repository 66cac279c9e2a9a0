// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension UInt8 {
    /// The byte with ASCII letters in lower case.
    @inline(__always)
    package var asciiLowercased: UInt8 {
        self &- 0x41 < 26 ? self | 0x20 : self
    }

    /// Whether the byte is `0` to `9`.
    @inline(__always)
    package var isASCIIDigit: Bool {
        self &- 0x30 < 10
    }

    /// Whether the byte is an ASCII letter or digit.
    @inline(__always)
    package var isASCIIAlphanumeric: Bool {
        asciiLowercased &- 0x61 < 26 || isASCIIDigit
    }

    /// Whether the byte stands for itself wherever it is in an address (RFC 3986 2.3).
    @inline(__always)
    package var isUnreserved: Bool {
        isASCIIAlphanumeric || self == 0x2d || self == 0x2e || self == 0x5f || self == 0x7e
    }
}

extension Span<UInt8> {
    /// Whether both hold the same bytes, ASCII letters of either case alike.
    package func equalsIgnoringCase(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index].asciiLowercased != other[index].asciiLowercased { return false }
        return true
    }

    /// Whether the bytes are those of `text`, ASCII letters of either case alike.
    package func equalsIgnoringCase(_ text: String) -> Bool {
        equalsIgnoringCase(text.utf8.span)
    }

    /// A copy as text, for what leaves the hot path; bytes that are not UTF-8 become U+FFFD.
    package var lossyText: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for index in indices { bytes.append(self[index]) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The bytes without surrounding spaces and tabs.
    package var trimmed: Span<UInt8> {
        @_lifetime(copy self)
        get {
            var start = 0
            var end = count
            while start < end, self[start] == 0x20 || self[start] == 0x09 { start += 1 }
            while end > start, self[end - 1] == 0x20 || self[end - 1] == 0x09 { end -= 1 }
            return extracting(start..<end)
        }
    }
}
