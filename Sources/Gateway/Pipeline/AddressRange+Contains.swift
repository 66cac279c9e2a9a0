// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

extension AddressRange {
    /// Whether the block holds `address`.
    func contains(_ address: IPAddress) -> Bool {
        address.family == .v4
            ? contains(high: 0, low: 0xffff_0000_0000 | address.low)
            : contains(high: address.high, low: address.low)
    }
}
