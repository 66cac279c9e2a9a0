// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Crypto
import Synchronization

/// A key record made ready for comparing, with the text that was last found to be the key.
///
/// A client sends one text again and again. Once its keyed hash was right, the next request compares texts, in constant
/// time, and computes no hash. The memory belongs to this compiled record under one set of peppers: any change of the
/// app makes another record, which remembers nothing, so a revoked key is refused as if it had never been seen.
final class CompiledKey: Sendable {
    let id: APIKeyID
    private let secret: CompiledSecret
    private let text: APIKeyText
    /// One worker's loop asks; the lock only makes that plain to the compiler.
    private let known = Mutex<(text: SecretBytes, mark: UInt64)?>(nil)

    /// nil when the record is not in normal form.
    init?(_ record: APIKeyRecord) {
        guard let secret = CompiledSecret(record.secret), let text = APIKeyText(id: record.id) else { return nil }
        self.id = record.id
        self.secret = secret
        self.text = text
    }

    /// Whether the presented text names this key; says nothing about its secret.
    func isNamed(by presented: APIKeyText.Name) -> Bool { presented == text.name }

    /// Whether the presented text has this key's keyed hash; remembers the text that has.
    func verify(_ presented: Span<UInt8>, under peppers: PepperRing) -> Bool {
        guard peppers.matches(secret, .apiKey, message: presented) else { return false }
        let copy = SecretBytes(presented)
        let mark = peppers.mark
        known.withLock { $0 = (copy, mark) }
        return true
    }

    /// Whether exactly this text was verified before, with the peppers that are held now.
    func isKnown(_ presented: Span<UInt8>, under peppers: PepperRing) -> Bool {
        known.withLock { known in
            guard let known, known.mark == peppers.mark else { return false }
            return known.text.equals(presented)
        }
    }
}
