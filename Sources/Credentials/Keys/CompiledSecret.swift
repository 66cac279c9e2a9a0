// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings

/// A stored keyed hash made ready for comparing.
package struct CompiledSecret: Sendable, Equatable {
    package let pepper: String
    let hash: Digest

    /// nil when the stored hash is not 64 lower-case hexadecimal digits.
    package init?(_ secret: HashedSecret) {
        let isLower = secret.hash.utf8.allSatisfy { 48...57 ~= $0 || 97...102 ~= $0 }
        guard isLower,
            case .success(let bytes) = Result(catching: { () throws(HexError) in
                try Hex.decode(secret.hash)
            }), let hash = Digest(bytes)
        else { return nil }
        self.pepper = secret.pepper
        self.hash = hash
    }
}
