// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A range of addresses in CIDR form, such as `10.0.0.0/8`.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    /// The first address.
    package let network: IPAddress
    /// The number of leading bits that all members share.
    package let length: Int

    /// Reads `address/length`, or an address alone for that one; nil where bits beyond the length are set.
    package init?(parsing text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(parsing: String(first)) else { return nil }
        var length = address.bitWidth
        if parts.count == 2 {
            guard let written = AddressRange.digits(parts[1]), written <= address.bitWidth else { return nil }
            length = written
        }
        guard address.prefix(length) == address else { return nil }
        network = address
        self.length = length
    }

    private static func digits(_ text: Substring) -> Int? {
        guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }

    /// Whether `address` lies in the range; the families must be the same.
    package func contains(_ address: IPAddress) -> Bool {
        address.family == network.family && address.prefix(length) == network
    }

    package var description: String { "\(network)/\(length)" }
}
