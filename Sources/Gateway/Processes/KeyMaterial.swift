// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
package import Crypto
import Encodings

/// Where this node's keys at rest are: the configured ones, else those of the state directory.
package struct KeySource: Sendable {
    package let paths: StatePaths
    package let secrets: SecretSettings

    package init(_ paths: StatePaths, _ secrets: SecretSettings) {
        self.paths = paths
        self.secrets = secrets
    }

    /// What changes when the files of the state directory do.
    var version: [FileVersion?] { [Files.version(paths.pepper), Files.version(paths.sealing)] }

    /// Reads them; the files may hold more keys than at the last look, the configured ones change with a restart.
    package func load() throws(ProcessFault) -> KeyMaterial { try KeyMaterial.load(paths, secrets) }
}

/// The keys at rest as a process holds them.
///
/// Redis names the one of each kind that is in use (`KeyringDocument`); until it is known, the first of the file is.
package struct KeyMaterial: Sendable {
    package let peppers: [(id: String, key: SecretBytes)]
    package let seals: [(id: String, key: SecretBytes)]

    /// Reads what the supervisor made, or takes what `secrets:` names.
    package static func load(_ paths: StatePaths, _ secrets: SecretSettings) throws(ProcessFault) -> KeyMaterial {
        KeyMaterial(
            peppers: try keys(secrets.pepper, else: paths.pepper).map { ($0.id, SecretBytes($0.bytes.span)) },
            seals: try keys(secrets.seal, else: paths.sealing).map { ($0.id, SecretBytes(sealing($0.bytes).span)) }
        )
    }

    /// A ring for this process's loop; the pepper named `current` hashes.
    package func ring(current: String? = nil) throws(ProcessFault) -> PepperRing {
        do {
            return try PepperRing(peppers(current: current))
        } catch {
            throw ProcessFault(error)
        }
    }

    /// The peppers in the order of a ring: `current` first.
    package func peppers(current: String?) -> [(id: String, key: SecretBytes)] { Self.order(peppers, current) }

    /// The sealing keys as a ring; `current` seals.
    package func sealingRing(current: String? = nil) throws(SealingProblem) -> SealingRing {
        try SealingRing(Self.order(seals, current))
    }

    /// The key that seals: the one named `current` where it is held.
    package func seal(current: String?) -> SecretBytes? { Self.order(seals, current).first?.key }

    private static func order(
        _ keys: [(id: String, key: SecretBytes)],
        _ current: String?
    ) -> [(id: String, key: SecretBytes)] {
        keys.filter { $0.id == current } + keys.filter { $0.id != current }
    }

    /// AES-256 takes 32 bytes: a longer secret is hashed to them.
    private static func sealing(_ bytes: [UInt8]) -> [UInt8] {
        bytes.count == 32 ? bytes : SHA256.hash(Array("sallyport sealing key".utf8) + bytes).bytes
    }

    private static func keys(_ configured: ConfiguredSecret?, else path: String) throws(ProcessFault) -> [KeyFiles.Key]
    {
        guard let configured else { return try KeyFiles.load(path) }
        // The same lines as in our own files may come from a secret, so that a rotation can bring the next key.
        if let keys = KeyFiles.parse(configured.bytes) { return keys }
        guard configured.bytes.count >= 32 else {
            throw ProcessFault("the secret \(configured.reference) has \(configured.bytes.count) bytes; 32 are needed")
        }
        return [KeyFiles.Key(id: KeyFiles.id(of: configured.bytes), bytes: configured.bytes)]
    }
}

extension ProcessFault {
    /// Why the peppers cannot be used.
    init(_ problem: PepperProblem) {
        switch problem {
        case .none: self.init("there is no pepper")
        case .short(let id): self.init("the pepper \(id) is shorter than 32 bytes")
        case .duplicate(let id): self.init("the pepper \(id) is given twice")
        }
    }
}

extension SealingProblem {
    /// Why what Redis keeps cannot be opened or sealed, for people.
    var sentence: String {
        switch self {
        case .noKey: "there is no sealing key"
        case .wrongLength(let id): "the sealing key \(id) has not 32 bytes"
        case .duplicate(let id): "the sealing key \(id) is given twice"
        case .unknownKey(let id): "this node does not hold the sealing key \(id)"
        case .doesNotOpen: "what is sealed in Redis was changed, or sealed for something else"
        case .sealingFailed: "sealing failed"
        }
    }
}

extension SigningKeyProblem {
    /// Why the ring of signing keys cannot be used, for people.
    var sentence: String {
        switch self {
        case .sealing(let problem): problem.sentence
        case .notTheKey(let id): "the signing key \(id) in Redis is not the one its id says"
        case .cryptography: "a signing key could not be made"
        }
    }
}
