// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

extension Span where Element == UInt8 {
    /// FNV-1a over the bytes: for tables whose keys an outsider cannot choose (they are configured), never for others.
    @inline(__always)
    func tableHash(from seed: UInt64) -> UInt64 {
        var hash = seed
        for index in indices { hash = (hash ^ UInt64(self[index])) &* 0x0000_0100_0000_01b3 }
        return hash
    }

    /// The bytes as text when they are UTF-8; off the hot path.
    package var validText: String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for index in indices { bytes.append(self[index]) }
        return String(validating: bytes, as: UTF8.self)
    }
}
