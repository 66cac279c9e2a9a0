// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Crypto
import Encodings

/// A text sealed at rest, with the id of the key that opens it; what Redis may hold.
package struct SealedText: Codable, Sendable, Equatable {
    package var key: String
    /// Nonce, ciphertext and tag, in base64.
    package var box: String

    package init(key: String, box: String) {
        self.key = key
        self.box = box
    }
}

/// Why a sealed text does not open.
package enum SealingProblem: Error, Equatable {
    case noKey
    case wrongLength(id: String)
    case duplicate(id: String)
    /// The key that sealed it is not held on this node: not ready, with this reason.
    case unknownKey(id: String)
    /// Changed, or sealed for something else.
    case doesNotOpen
    case sealingFailed
}

/// The keys that seal what Redis keeps: the newest seals, all of them open.
package struct SealingRing: Sendable {
    private let keys: [(id: String, key: SecretBytes)]

    /// Each key (32 bytes) with its id, newest first.
    package init(_ keys: [(id: String, key: SecretBytes)]) throws(SealingProblem) {
        if keys.isEmpty { throw .noKey }
        for (index, key) in keys.enumerated() {
            if key.key.count != 32 { throw .wrongLength(id: key.id) }
            if keys[..<index].contains(where: { $0.id == key.id }) { throw .duplicate(id: key.id) }
        }
        self.keys = keys
    }

    /// The id of the key that seals.
    package var newest: String { keys[0].id }

    /// Seals `plaintext`; `purpose` says what it is, and must be said again to open it.
    package func seal(_ plaintext: [UInt8], purpose: String) throws(SealingProblem) -> SealedText {
        let (id, key) = keys[0]
        do {
            let box = try AES256GCM.seal(plaintext, key: key, context: Self.context(id, purpose))
            return SealedText(key: id, box: Base64.encode(box.combined))
        } catch {
            throw .sealingFailed
        }
    }

    /// Opens what was sealed for `purpose`.
    package func open(_ sealed: SealedText, purpose: String) throws(SealingProblem) -> [UInt8] {
        guard let (id, key) = keys.first(where: { $0.id == sealed.key }) else { throw .unknownKey(id: sealed.key) }
        do {
            let box = try SealedBox(combined: Base64.decode(sealed.box))
            return try AES256GCM.open(box, key: key, context: Self.context(id, purpose))
        } catch {
            throw .doesNotOpen
        }
    }

    /// Bound to key and purpose, so that one sealed text cannot be put in another's place.
    private static func context(_ id: String, _ purpose: String) -> [UInt8] {
        Array("sallyport\0\(id)\0\(purpose)".utf8)
    }
}
