// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The CRC-32 of IEEE 802.3: it finds typing mistakes, it protects nothing.
enum CRC32 {
    /// One entry a byte value; an array, since an inline one would be copied at every use.
    private static let table: [UInt32] = (0..<256).map { index in
        var value = UInt32(truncatingIfNeeded: index)
        for _ in 0..<8 { value = value & 1 == 1 ? 0xedb8_8320 ^ (value >> 1) : value >> 1 }
        return value
    }

    static func checksum(of bytes: Span<UInt8>) -> UInt32 {
        let table = table.span
        var value: UInt32 = .max
        for index in bytes.indices {
            value = table[Int(UInt8(truncatingIfNeeded: value) ^ bytes[index])] ^ (value >> 8)
        }
        return ~value
    }
}
