// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// An IPv4 or IPv6 address; an IPv4 address that arrived mapped into IPv6 is IPv4 here.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// The family of an address.
    package enum Family: Sendable {
        case v4
        case v6
    }

    package let family: Family
    /// The first 64 bits of an IPv6 address; zero for IPv4.
    package let high: UInt64
    /// The last 64 bits of an IPv6 address; the 32 bits of an IPv4 address.
    package let low: UInt64

    /// An IPv4 address from its 32 bits, the first octet in the highest.
    package init(v4 bits: UInt32) {
        family = .v4
        high = 0
        low = UInt64(bits)
    }

    /// An IPv6 address from its two halves; `::ffff:a.b.c.d` becomes IPv4.
    package init(v6High high: UInt64, low: UInt64) {
        if high == 0, low >> 32 == 0xffff {
            self.init(v4: UInt32(truncatingIfNeeded: low))
        } else {
            self.init(exactV6High: high, low: low)
        }
    }

    /// Reads dotted-quad IPv4 or IPv6 without brackets or zone; nil for anything else.
    package init?(parsing text: String) {
        guard text.utf8.count <= 45, !text.utf8.contains(0) else { return nil }
        var v4 = in_addr()
        if unsafe inet_pton(AF_INET, text, &v4) == 1 {
            self.init(v4: UInt32(bigEndian: v4.s_addr))
            return
        }
        var v6 = in6_addr()
        guard unsafe inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
        self.init(v6)
    }

    init(_ address: in6_addr) {
        let (high, low) = unsafe withUnsafeBytes(of: address) { raw in
            unsafe (raw.loadUnaligned(as: UInt64.self), raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
        self.init(v6High: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
    }

    var in6: in6_addr {
        var address = in6_addr()
        unsafe withUnsafeMutableBytes(of: &address) { raw in
            unsafe raw.storeBytes(of: high.bigEndian, as: UInt64.self)
            unsafe raw.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return address
    }

    /// 32 or 128.
    package var bitWidth: Int { family == .v4 ? 32 : 128 }

    /// The address with all but its first `length` bits cleared; what limits count IPv6 clients by is `prefix(64)`.
    package func prefix(_ length: Int) -> IPAddress {
        let length = max(0, min(length, bitWidth))
        switch family {
        case .v4:
            return IPAddress(v4: UInt32(truncatingIfNeeded: low) & ~(UInt32.max >> UInt32(length)))
        case .v6:
            let highMask = ~(UInt64.max >> UInt64(min(length, 64)))
            let lowMask = ~(UInt64.max >> UInt64(max(length - 64, 0)))
            return IPAddress(exactV6High: high & highMask, low: low & lowMask)
        }
    }

    private init(exactV6High high: UInt64, low: UInt64) {
        family = .v6
        self.high = high
        self.low = low
    }

    /// The address in its shortest standard form.
    package var description: String {
        switch family {
        case .v4:
            return "\(low >> 24).\(low >> 16 & 255).\(low >> 8 & 255).\(low & 255)"
        case .v6:
            var address = in6
            return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
                guard let text = unsafe inet_ntop(AF_INET6, &address, buffer.baseAddress.unsafelyUnwrapped, 64) else {
                    return ""
                }
                return unsafe String(cString: text)
            }
        }
    }
}

extension IPAddress {
    /// With whom a client of this address takes turns on the loop: all of one address, or of one /64.
    ///
    /// Hashes differ from process to process, so that nobody can choose the lane of another.
    package var lane: UInt8 {
        var hasher = Hasher()
        hasher.combine(family == .v4 ? low : high)
        return UInt8(truncatingIfNeeded: hasher.finalize())
    }
}
