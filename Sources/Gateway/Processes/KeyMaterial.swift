// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
package import Crypto

/// The keys at rest as a process holds them: those configured, else those of the state directory.
package struct KeyMaterial: Sendable {
    /// Newest first: the first hashes, all verify.
    package let peppers: [(id: String, key: SecretBytes)]
    /// Newest first: the first seals, all open.
    package let seals: [(id: String, key: SecretBytes)]

    /// Reads what the supervisor made, or takes what `secrets:` names.
    package static func load(_ paths: StatePaths, _ secrets: SecretSettings) throws(ProcessFault) -> KeyMaterial {
        KeyMaterial(
            peppers: try keys(secrets.pepper, else: paths.pepper),
            seals: try keys(secrets.seal, else: paths.sealing)
        )
    }

    /// A ring for this process's loop.
    package func ring() throws(ProcessFault) -> PepperRing {
        do {
            return try PepperRing(peppers)
        } catch {
            switch error {
            case .none: throw ProcessFault("there is no pepper")
            case .short(let id): throw ProcessFault("the pepper \(id) is shorter than 32 bytes")
            case .duplicate(let id): throw ProcessFault("the pepper \(id) is given twice")
            }
        }
    }

    /// What opens and seals what Redis keeps.
    package func sealing() throws(ProcessFault) -> SealingRing {
        do {
            return try SealingRing(seals)
        } catch {
            throw ProcessFault("the sealing keys cannot be used: \(error)")
        }
    }

    private static func keys(
        _ configured: ConfiguredSecret?,
        else path: String
    ) throws(ProcessFault) -> [(id: String, key: SecretBytes)] {
        guard let configured else {
            return try KeyFiles.load(path).map { ($0.id, SecretBytes($0.bytes.span)) }
        }
        guard configured.bytes.count >= 32 else {
            throw ProcessFault("the secret \(configured.reference) has \(configured.bytes.count) bytes; 32 are needed")
        }
        return [(KeyFiles.id(of: configured.bytes), SecretBytes(configured.bytes.span))]
    }
}
