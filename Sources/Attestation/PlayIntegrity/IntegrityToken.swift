// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings

/// The two keys of an app's Play Integrity responses, as Play Console shows them.
package struct PlayIntegrityKeys: Sendable {
    /// Unwraps the content keys.
    let decryption: SecretBytes
    /// Checks the signature within.
    let verification: PublicKey
    /// Whose keys they are.
    package let provenance: Provenance

    /// Why a key that a tenant wants to save is none.
    package enum ParseError: Error, Equatable {
        /// The decryption key is not base64 of 32 bytes.
        case decryptionKey
        /// The verification key is not base64 of a P-256 SubjectPublicKeyInfo.
        case verificationKey
    }

    /// The keys of their two texts.
    package init(
        decryptionKey: String,
        verificationKey: String,
        provenance: Provenance = .vendor
    ) throws(ParseError) {
        do {
            var bytes = try Base64.decode(decryptionKey, padding: .optional, limit: 64)
            guard bytes.count == 32 else { throw ParseError.decryptionKey }
            decryption = SecretBytes(wiping: &bytes)
        } catch {
            throw .decryptionKey
        }
        do {
            verification = try PublicKey(spki: try Base64.decode(verificationKey, padding: .optional, limit: 512))
            guard verification.kind == .p256 else { throw ParseError.verificationKey }
        } catch {
            throw .verificationKey
        }
        self.provenance = provenance
    }
}

/// Opens the two envelopes of a classic Play Integrity token: a JWE around a JWS, each of exactly one form.
enum IntegrityToken {
    /// Longer tokens are refused before anything is read: real ones take 2 KiB.
    static let maximumBytes = 16_384

    /// What stood in the way of the payload.
    struct Failure: Error {
        let reason: AttestationReason
        let stage: IntegrityStage

        /// A token that cannot be read counts as one that could not be opened.
        static let malformed = Failure(reason: .malformed, stage: .decrypt)
    }

    /// The signed payload of `token`.
    ///
    /// Algorithms are ours; the headers may only agree (A256KW, A256GCM, ES256). Lengths are exact, because the library
    /// compares only as many bytes of a tag as it is given.
    static func payload(of token: String, keys: PlayIntegrityKeys) throws(Failure) -> JSONObject {
        let signed = try decrypt(token, keys: keys)
        let parts = signed.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw Failure.malformed }
        let header = try header(parts[0])
        guard header["alg"] == .string("ES256"), header["crit"] == nil, header["b64"] == nil else {
            throw Failure.malformed
        }
        let signature = try decode(parts[2])
        guard signature.count == 64 else { throw Failure.malformed }
        let message = Array(signed[..<parts[1].endIndex])
        guard keys.verification.verifies(rawSignature: signature, of: message, .ecdsa(.sha256)) else {
            throw Failure(reason: .badSignature, stage: .signature)
        }
        do {
            guard let payload = try JSONValue(parsing: try decode(parts[1])).object else {
                throw Failure.malformed
            }
            return payload
        } catch {
            throw Failure.malformed
        }
    }

    private static func decrypt(_ token: String, keys: PlayIntegrityKeys) throws(Failure) -> [UInt8] {
        guard token.utf8.count <= maximumBytes else { throw Failure.malformed }
        let bytes = Array(token.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 5 else { throw Failure.malformed }
        let header = try header(parts[0])
        guard header["alg"] == .string("A256KW"), header["enc"] == .string("A256GCM"), header["zip"] == nil,
            header["crit"] == nil
        else { throw Failure.malformed }
        let wrapped = try decode(parts[1])
        let nonce = try decode(parts[2])
        let ciphertext = try decode(parts[3])
        let tag = try decode(parts[4])
        guard wrapped.count == 40, nonce.count == 12, tag.count == 16 else { throw Failure.malformed }
        do {
            let key = try AESKeyWrap.unwrap(wrapped, key: keys.decryption)
            let box = try SealedBox(nonce: nonce, ciphertext: ciphertext, tag: tag)
            return try AES256GCM.open(box, key: key, context: Array(parts[0]))
        } catch {
            throw Failure(reason: .decryptionFailed, stage: .decrypt)
        }
    }

    private static func header(_ part: ArraySlice<UInt8>) throws(Failure) -> JSONObject {
        let bytes = try decode(part)
        do {
            if let header = try JSONValue(parsing: bytes).object { return header }
        } catch {
            throw Failure.malformed
        }
        throw Failure.malformed
    }

    private static func decode(_ part: ArraySlice<UInt8>) throws(Failure) -> [UInt8] {
        do {
            return try Base64.decode(part.span, alphabet: .urlSafe, padding: .forbidden)
        } catch {
            throw Failure.malformed
        }
    }
}
