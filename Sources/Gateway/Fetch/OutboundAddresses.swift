// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Transport

/// Which addresses a configured name may lead us to.
///
/// Judged on the address that is connected to, never on the name: a name whose answer changes between a check and the
/// connection would lead the gateway into its own network.
package struct OutboundAddresses: Sendable, Equatable {
    /// Ranges that are allowed although they are not public.
    private let exceptions: [AddressRange]

    package init(exceptions: [AddressRange]) {
        self.exceptions = exceptions
    }

    /// Whether a connection to the address may be opened.
    package func permits(_ address: IPAddress) -> Bool {
        if exceptions.contains(where: { $0.contains(address) }) { return true }
        guard !Self.special.contains(where: { $0.contains(address) }) else { return false }
        // An address that carries another one is worth what that one is.
        guard let inner = Self.embedded(in: address) else { return true }
        return permits(inner)
    }

    /// The IPv4 address inside one of NAT64 (RFC 6052) or 6to4 (RFC 3056).
    private static func embedded(in address: IPAddress) -> IPAddress? {
        guard address.family == .v6 else { return nil }
        if address.high == 0x0064_ff9b_0000_0000, address.low >> 32 == 0 {
            return IPAddress(v4: UInt32(truncatingIfNeeded: address.low))
        }
        if address.high >> 48 == 0x2002 { return IPAddress(v4: UInt32(truncatingIfNeeded: address.high >> 16)) }
        return nil
    }

    /// What is not public: this host, private, shared, loopback, link-local, unique-local, documentation, benchmarks,
    /// multicast and reserved (RFC 6890 and its registries).
    private static let special: [AddressRange] = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7",
        "fe80::/10", "fec0::/10", "ff00::/8",
    ].compactMap { AddressRange(parsing: $0) }
}
