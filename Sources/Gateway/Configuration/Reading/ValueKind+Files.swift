// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Transport

extension ValueKind where Value == String {
    /// A path of a regular file that must be there, and readable.
    static let readablePath = ValueKind(
        "path",
        read: { reader in
            guard let path = ValueKind.path.read(reader) else { return nil }
            guard case .failure(let fault) = Files.read(path) else { return path }
            return reader.refuse("a file that can be read (\(fault.message))")
        },
        write: { $0 }
    )

    /// A path of a PEM file of authorities, read as whoever uses them reads it.
    static let authorities = ValueKind(
        "path",
        read: { reader in
            guard let path = ValueKind.path.read(reader) else { return nil }
            switch Files.read(path, limit: PEMFile.limit) {
            case .failure(let fault): return reader.refuse("a file that can be read (\(fault.message))")
            case .success(let pem) where !TLSFiles.holdAuthorities(pem):
                return reader.refuse(
                    "a PEM file of authorities: it holds no certificate, or one that cannot be read; put theirs into it, "
                        + "or leave the setting out to trust the system's"
                )
            case .success: return path
            }
        },
        write: { $0 }
    )
}
