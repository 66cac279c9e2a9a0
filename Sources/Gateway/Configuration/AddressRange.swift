// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A block of IP addresses, `10.0.0.0/8` or `2001:db8::/32`; an IPv4 block is kept as its IPv4-mapped IPv6 block.
package struct AddressRange: Sendable, Hashable {
    package var high: UInt64
    package var low: UInt64
    /// Counted in the 128-bit form: 96 more than written for IPv4.
    package var prefix: Int

    /// Whether the block holds the address given as 128 bits (IPv4 mapped).
    package func contains(high: UInt64, low: UInt64) -> Bool {
        let highMask: UInt64 = prefix >= 64 ? .max : (prefix == 0 ? 0 : .max << (64 - UInt64(prefix)))
        let lowMask: UInt64 = prefix <= 64 ? 0 : .max << (128 - UInt64(prefix))
        return (self.high ^ high) & highMask == 0 && (self.low ^ low) & lowMask == 0
    }
}
