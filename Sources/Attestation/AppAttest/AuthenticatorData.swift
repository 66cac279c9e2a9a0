// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
package import Encodings

/// WebAuthn's authenticator data in the two shapes that App Attest gives it.
struct AuthenticatorData {
    /// SHA-256 of the app's identifier.
    let identifierHash: Digest
    /// The signature counter.
    let counter: UInt32
    /// What the hardware says about a new key, in attestations.
    let attestedKey: AttestedKey?
    /// What iOS 27 and later append.
    let extensions: AppAttestExtensions

    /// The attested credential data of an attestation.
    struct AttestedKey {
        /// Which of Apple's environments made the key.
        let environmentID: [UInt8]
        /// SHA-256 of the public point, as Apple names the key.
        let credentialID: [UInt8]
        /// `04 || x || y` as the COSE key writes it.
        let point: [UInt8]
    }

    private static let attestedDataFlag: UInt8 = 0x40
    private static let headLength = 37

    /// The data of an attestation: a key follows the head, an extension map may follow the key.
    init(attestation bytes: [UInt8]) throws(AppAttestMalformation) {
        // 37 head, 16 environment, 2 length, 32 credential id: then the COSE key.
        guard bytes.count > 87, bytes[32] & Self.attestedDataFlag != 0 else { throw AppAttestMalformation() }
        guard bytes[53] == 0, bytes[54] == 32 else { throw AppAttestMalformation() }
        var reader = CBORReader(bytes, from: 87)
        do {
            attestedKey = AttestedKey(
                environmentID: Array(bytes[37..<53]),
                credentialID: Array(bytes[55..<87]),
                point: try Self.point(of: try reader.next())
            )
            extensions = try AppAttestExtensions(readingRestOf: &reader)
        } catch {
            throw AppAttestMalformation()
        }
        (identifierHash, counter) = try Self.head(of: bytes)
    }

    /// The data of an assertion: the head alone, or the head and one extension map, whatever the flags say.
    ///
    /// iOS sets the attested-data flag without any such data, and leaves the extension flag clear with extensions.
    init(assertion bytes: [UInt8]) throws(AppAttestMalformation) {
        (identifierHash, counter) = try Self.head(of: bytes)
        attestedKey = nil
        var reader = CBORReader(bytes, from: Self.headLength)
        do {
            extensions = try AppAttestExtensions(readingRestOf: &reader)
        } catch {
            throw AppAttestMalformation()
        }
    }

    private static func head(of bytes: [UInt8]) throws(AppAttestMalformation) -> (Digest, UInt32) {
        guard bytes.count >= headLength, let hash = Digest(Array(bytes[0..<32])) else { throw AppAttestMalformation() }
        let counter = bytes[33..<37].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        return (hash, counter)
    }

    /// Exactly the five members of an ES256 key on P-256 (RFC 9053 7.1).
    private static func point(of key: CBORValue) throws(AppAttestMalformation) -> [UInt8] {
        guard let entries = key.map, entries.count == 5 else { throw AppAttestMalformation() }
        func member(_ label: Int) -> CBORValue? {
            entries.first { $0.key == .integer(label) }?.value
        }
        guard member(1) == .integer(2), member(3) == .integer(-7), member(-1) == .integer(1),
            let x = member(-2)?.bytes, let y = member(-3)?.bytes, x.count == 32, y.count == 32
        else { throw AppAttestMalformation() }
        return [4] + x + y
    }
}

/// Bytes that are not the App Attest structure they should be.
struct AppAttestMalformation: Error {}

/// What iOS 27 and later say about the app beside the key; shown, never required.
package struct AppAttestExtensions: Equatable, Sendable {
    /// Every entry in order; values are text or bytes.
    package let entries: [CBORValue.Entry]

    /// No extensions, as up to iOS 26.
    package static let none = AppAttestExtensions(entries: [])

    private init(entries: [CBORValue.Entry]) {
        self.entries = entries
    }

    /// Nothing, or exactly one map with text keys.
    init(readingRestOf reader: inout CBORReader) throws {
        guard !reader.isAtEnd else {
            self = .none
            return
        }
        let value = try reader.next()
        guard reader.isAtEnd, let entries = value.map, entries.allSatisfy({ $0.key.text != nil }) else {
            throw AppAttestMalformation()
        }
        self.entries = entries
    }
}
