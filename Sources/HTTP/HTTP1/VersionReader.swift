// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// Reads `HTTP/1.1` and tells wrong versions from nonsense, as early as the bytes allow.
enum VersionReader {
    /// The number of bytes a version takes.
    static let length = 8
    /// "HTTP/1.1" and "HTTP/1.0", read little-endian.
    private static let http11: UInt64 = 0x312e_312f_5054_5448
    private static let http10: UInt64 = 0x302e_312f_5054_5448

    /// The version at `start`; nil when more bytes are needed to tell.
    @inline(__always)
    static func read(_ bytes: Span<UInt8>, at start: Int) throws(HTTPViolation) -> HTTPVersion? {
        guard bytes.count &- start >= length else {
            try readPrefix(bytes, at: start)
            return nil
        }
        let word = bytes.word(at: start)
        if word == http11 { return .http11 }
        if word == http10 { return .http10 }
        try readPrefix(bytes, at: start)
        throw .versionNotSupported
    }

    /// Refuses what can no longer become a version, so that nobody is kept waiting for the rest.
    @inline(never)
    private static func readPrefix(_ bytes: Span<UInt8>, at start: Int) throws(HTTPViolation) {
        let pattern: InlineArray<8, UInt8> = [0x48, 0x54, 0x54, 0x50, 0x2f, 0x31, 0x2e, 0x31]
        for index in 0..<min(length, bytes.count - start) {
            let byte = bytes[start + index]
            let fits = index == 5 || index == 7 ? byte.isASCIIDigit : byte == pattern[index]
            if !fits { throw .malformedVersion }
        }
    }
}
