// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// Bytes that nobody can guess.
package enum RandomBytes {
    /// `count` fresh bytes.
    package static func make(_ count: Int) throws(CryptoError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        try fill(&bytes)
        return bytes
    }

    /// Overwrites all of `bytes`.
    package static func fill(_ bytes: inout [UInt8]) throws(CryptoError) {
        guard let count = CInt(exactly: bytes.count) else { throw .illegalLength }
        guard unsafe RAND_bytes(&bytes, count) == 1 else {
            clearLibraryErrors()
            throw .randomnessFailed
        }
    }
}
