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
            return refuse(path, fault, reader)
        },
        write: { $0 }
    )

    /// A path of a PEM file of authorities, read as whoever uses them reads it.
    static let authorities = ValueKind(
        "path",
        read: { reader in ValueKind.path.read(reader).flatMap { lookAtAuthorities($0, reader) } },
        write: { $0 }
    )

    /// As `authorities`, for those that no reload takes anew: a file that is gone by then is no reason to refuse one.
    static let startingAuthorities = ValueKind(
        "path",
        read: { reader in
            guard let path = ValueKind.path.read(reader), reader.context.surroundings == .starting else {
                return ValueKind.path.read(reader)
            }
            return lookAtAuthorities(path, reader)
        },
        write: { $0 }
    )

    private static func lookAtAuthorities(_ path: String, _ reader: ValueReader) -> String? {
        switch Files.read(path, limit: PEMFile.limit) {
        case .failure(let fault): return refuse(path, fault, reader)
        case .success(let pem) where !TLSFiles.holdAuthorities(pem):
            return reader.refuse(
                "a PEM file of authorities: it holds no certificate, or one that cannot be read; put theirs into it, "
                    + "or leave the setting out to trust the system's"
            )
        case .success: return path
        }
    }

    private static func refuse(_ path: String, _ fault: FileFault, _ reader: ValueReader) -> String? {
        reader.refuse(fault, "expected a file that can be read (\(fault.message))", standIn: path)
    }
}
