// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation
package import Credentials
import Encodings

/// What an app keeps sealed to have its Play Integrity tokens opened; written, never shown again (APP-029).
///
/// Each text is sealed for one app and one purpose: put into another record it does not open.
package enum PlaySecrets {
    /// Seals the two keys that Play Console shows, once they have been read as such.
    package static func seal(
        decryptionKey: String,
        verificationKey: String,
        for app: RecordID,
        with seals: SealingRing
    ) throws(SealingProblem) -> SealedText {
        var text = JSONWriter()
        text.beginObject()
        text.member("decryption", decryptionKey)
        text.member("verification", verificationKey)
        text.endObject()
        return try seals.seal(text.bytes, purpose: keyPurpose(app))
    }

    /// The keys that were sealed for `app`; nil if they do not open, which is as if there were none.
    package static func keys(
        _ sealed: SealedText,
        for app: RecordID,
        with seals: SealingRing,
        provenance: Provenance = .vendor
    ) -> PlayIntegrityKeys? {
        do {
            let document = try JSONValue(parsing: try seals.open(sealed, purpose: keyPurpose(app)))
            return try PlayIntegrityKeys(
                decryptionKey: document["decryption"]?.string ?? "",
                verificationKey: document["verification"]?.string ?? "",
                provenance: provenance
            )
        } catch {
            return nil
        }
    }

    /// Seals a service account's key file.
    package static func seal(
        account text: [UInt8],
        for app: RecordID,
        with seals: SealingRing
    ) throws(SealingProblem) -> SealedText {
        try seals.seal(text, purpose: accountPurpose(app))
    }

    /// The service account that was sealed for `app`; nil if it does not open.
    package static func account(_ sealed: SealedText, for app: RecordID, with seals: SealingRing) -> ServiceAccount? {
        do {
            return try ServiceAccount(parsing: try seals.open(sealed, purpose: accountPurpose(app)))
        } catch {
            return nil
        }
    }

    static func keyPurpose(_ app: RecordID) -> String { "play-keys/\(app.rawValue)" }
    static func accountPurpose(_ app: RecordID) -> String { "play-account/\(app.rawValue)" }
}
