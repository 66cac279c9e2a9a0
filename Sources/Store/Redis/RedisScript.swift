// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings

/// A Lua script with the digest by which Redis remembers it.
package struct RedisScript: Sendable {
    let source: String
    /// SHA-1 of the source, 40 lower-case hexadecimal digits.
    let digest: [UInt8]

    package init(_ source: String) {
        self.source = source
        digest = [UInt8](Hex.encode(SHA1.hash([UInt8](source.utf8))).utf8)
    }
}
