// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// `host[:port]` taken apart; the ranges are into the bytes it was parsed from.
package struct Authority: Sendable, Equatable {
    /// The host, brackets of an IPv6 address included.
    package let host: Range<Int>
    /// The port, when one is written.
    package let port: UInt16?

    /// Reads `bytes` strictly; nil for anything that is not one host with an optional port.
    ///
    /// Stricter than RFC 3986: no user info, no percent-encoding, no sub-delimiters, no empty port, since no name that
    /// can be looked up or certified has them and back ends disagree about what they mean. An underscore may pass.
    package init?(_ bytes: Span<UInt8>) {
        // 255 bytes is the longest name; the rest is brackets and port.
        guard bytes.count > 0, bytes.count <= 270 else { return nil }
        var end: Int
        if bytes[0] == 0x5b {
            guard let bracket = Self.endOfIPv6(bytes) else { return nil }
            end = bracket
        } else {
            end = 0
            while end < bytes.count, Self.isNameByte(bytes[end]) { end += 1 }
            guard end > 0, end <= 255 else { return nil }
        }
        host = 0..<end
        guard end < bytes.count else {
            port = nil
            return
        }
        guard bytes[end] == 0x3a, let number = Self.port(bytes, from: end + 1) else { return nil }
        port = number
    }

    @inline(__always)
    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte.asciiLowercased &- 0x61 < 26 || byte.isASCIIDigit || byte == 0x2e || byte == 0x2d || byte == 0x5f
    }

    private static func port(_ bytes: Span<UInt8>, from start: Int) -> UInt16? {
        guard start < bytes.count, bytes.count - start <= 5 else { return nil }
        var number = 0
        for index in start..<bytes.count {
            guard bytes[index].isASCIIDigit else { return nil }
            number = number * 10 + Int(bytes[index] &- 0x30)
        }
        return UInt16(exactly: number)
    }

    /// The end of `[…]` when it holds an IPv6 address.
    ///
    /// Up to eight groups of one to four digits, `::` at most once, possibly an IPv4 address as the last two groups.
    /// Zones and future versions are refused.
    private static func endOfIPv6(_ bytes: Span<UInt8>) -> Int? {
        var close = 1
        while close < bytes.count, bytes[close] != 0x5d { close += 1 }
        guard close < bytes.count, close - 1 >= 2, close - 1 <= 45 else { return nil }
        var groups = 0
        var isCompressed = false
        var at = 1
        if bytes[1] == 0x3a {
            guard bytes[2] == 0x3a else { return nil }
            isCompressed = true
            at = 3
        }
        while at < close {
            let start = at
            while at < close, ByteClass.table[Int(bytes[at])] & ByteClass.hex != 0 { at += 1 }
            if at < close, bytes[at] == 0x2e {
                guard isIPv4(bytes, start..<close) else { return nil }
                groups += 2
                at = close
                break
            }
            guard at > start, at - start <= 4 else { return nil }
            groups += 1
            if at == close { break }
            guard bytes[at] == 0x3a, at + 1 < close else { return nil }
            at += 1
            if bytes[at] == 0x3a {
                guard !isCompressed else { return nil }
                isCompressed = true
                at += 1
            }
        }
        return (isCompressed ? groups < 8 : groups == 8) ? close + 1 : nil
    }

    private static func isIPv4(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        var parts = 1
        var digits = 0
        var number = 0
        for index in range {
            let byte = bytes[index]
            if byte == 0x2e {
                guard digits > 0 else { return false }
                parts += 1
                digits = 0
                number = 0
            } else {
                guard byte.isASCIIDigit, digits < 3, digits == 0 || number > 0 else { return false }
                number = number * 10 + Int(byte &- 0x30)
                digits += 1
                guard number <= 255 else { return false }
            }
        }
        return parts == 4 && digits > 0
    }
}
