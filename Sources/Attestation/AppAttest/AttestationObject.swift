// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings

/// The CBOR map that `attestKey` returns, taken apart.
struct AttestationObject {
    /// The certificate of the new key.
    let leaf: Certificate
    /// The certificate of Apple's issuing authority.
    let intermediate: Certificate
    /// The authenticator data as received: the nonce is over these bytes.
    let authenticatorData: [UInt8]
    /// The authenticator data, taken apart.
    let data: AuthenticatorData

    /// Apple's extension that holds the nonce.
    static let nonceExtension = OID(1, 2, 840, 113_635, 100, 8, 2)

    init(parsing bytes: [UInt8]) throws {
        let object = try CBORReader.value(of: bytes)
        guard object.map?.count == 3, object["fmt"] == .text("apple-appattest"),
            let statement = object["attStmt"], statement.map?.count == 2, statement["receipt"]?.bytes != nil,
            let chain = statement["x5c"]?.array, chain.count == 2,
            let leaf = chain[0].bytes, let intermediate = chain[1].bytes,
            let authenticatorData = object["authData"]?.bytes
        else { throw AppAttestMalformation() }
        self.leaf = try Certificate(der: leaf)
        self.intermediate = try Certificate(der: intermediate)
        guard self.leaf.validity != nil, self.intermediate.validity != nil else { throw AppAttestMalformation() }
        self.authenticatorData = authenticatorData
        data = try AuthenticatorData(attestation: authenticatorData)
    }

    /// The point of the leaf's key, if it is one on P-256.
    var leafPoint: [UInt8]? {
        do {
            let key = try leaf.publicKey()
            return key.kind == .p256 ? key.point : nil
        } catch {
            return nil
        }
    }

    /// The nonce that the leaf holds: `SEQUENCE { [1] { OCTET STRING (32) } }` and nothing else.
    var nonce: Digest? {
        guard let value = leaf.value(of: Self.nonceExtension) else { return nil }
        do {
            var sequence = try DERCursor.only(.sequence, in: value).cursor
            var wrapper = try sequence.read(.explicit(1)).cursor
            let octets = try wrapper.read(.octetString)
            try wrapper.finish()
            try sequence.finish()
            return Digest(octets.bytes)
        } catch {
            return nil
        }
    }
}
