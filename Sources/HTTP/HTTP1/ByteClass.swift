// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What a byte may be part of in a head, one table look-up a byte.
enum ByteClass {
    /// A character of a token: method or field name (RFC 9110 5.6.2).
    static let token: UInt8 = 1
    /// A visible ASCII character other than `#`: what a target is made of (RFC 9112 3.2, RFC 3986 4.2).
    static let target: UInt8 = 2
    /// A character of a field value or reason phrase (RFC 9110 5.5).
    static let value: UInt8 = 4
    /// A space or tab.
    static let blank: UInt8 = 8
    /// A token character that is no letter, digit or hyphen: CGI-like back ends read it as a hyphen.
    static let hyphenLike: UInt8 = 16
    /// An upper or lower case hexadecimal digit.
    static let hex: UInt8 = 32

    /// The classes of every byte, written out so that the compiler lays it down as data.
    static let table: InlineArray<256, UInt8> = [
        0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        12, 23, 6, 21, 23, 23, 23, 23, 6, 6, 23, 23, 6, 7, 23, 6,
        39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 6, 6, 6, 6, 6, 6,
        6, 39, 39, 39, 39, 39, 39, 7, 7, 7, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6, 6, 6, 23, 23,
        23, 39, 39, 39, 39, 39, 39, 7, 7, 7, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6, 23, 6, 23, 0,
        4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
        4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
        4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
        4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
        4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
        4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
        4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
        4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
    ]
}
