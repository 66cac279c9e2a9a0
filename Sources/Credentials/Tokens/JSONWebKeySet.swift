// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Crypto
import Encodings

/// Why a key set cannot be taken.
package enum KeySetProblem: String, Error, Sendable {
    case malformed
    case tooLong = "too_long"
    case tooManyKeys = "too_many_keys"
    /// None of its keys is usable: as bad as no answer, so that the last good set stays.
    case noUsableKey = "no_usable_key"
    case duplicateKeyID = "duplicate_key_id"
}

/// Key sets of RFC 7517, read strictly where it matters and written for others to read.
package enum JSONWebKeySet {
    /// The longest set that is read.
    package static let maximumBytes = 256 << 10
    /// The most keys of a set: rotation needs a handful.
    private static let maximumKeys = 64

    /// Reads a set; keys that are not for verifying, of unknown kinds or unfit for `algorithms` are left out.
    package static func parse(
        _ bytes: [UInt8],
        algorithms: [TokenAlgorithm]
    ) throws(KeySetProblem) -> VerificationKeySet {
        guard bytes.count <= maximumBytes else { throw .tooLong }
        let limits = JSONLimits(bytes: maximumBytes, depth: 8, values: 8_192)
        let members: [JSONValue]
        do {
            guard let list = try JSONValue(parsing: bytes, limits: limits).object?["keys"]?.array else {
                throw KeySetProblem.malformed
            }
            members = list
        } catch {
            throw .malformed
        }
        guard members.count <= maximumKeys else { throw .tooManyKeys }
        var keys: [VerificationKey] = []
        for member in members {
            guard let object = member.object else { throw .malformed }
            guard let key = key(object, algorithms) else { continue }
            if let id = key.id, keys.contains(where: { $0.id == id && $0.algorithms == key.algorithms }) {
                throw .duplicateKeyID
            }
            keys.append(key)
        }
        if keys.isEmpty { throw .noUsableKey }
        return VerificationKeySet(keys)
    }

    private static func key(_ object: JSONObject, _ allowed: [TokenAlgorithm]) -> VerificationKey? {
        if let use = object["use"], use.string != "sig" { return nil }
        if let operations = object["key_ops"] {
            guard let list = operations.array, list.contains(.string("verify")) else { return nil }
        }
        var algorithms = allowed.filter { $0 != .hs256 }
        if let name = object["alg"] {
            guard let algorithm = name.string.flatMap(TokenAlgorithm.init(rawValue:)) else { return nil }
            algorithms = algorithms.filter { $0 == algorithm }
        }
        if let id = object["kid"], id.string == nil { return nil }
        guard let publicKey = publicKey(object) else { return nil }
        return VerificationKey(id: object["kid"]?.string, publicKey: publicKey, algorithms: algorithms)
    }

    private static func publicKey(_ object: JSONObject) -> PublicKey? {
        do throws(CryptoError) {
            switch (object["kty"]?.string, object["crv"]?.string) {
            case ("EC", "P-256"): return try point(object, .p256)
            case ("EC", "P-384"): return try point(object, .p384)
            case ("OKP", "Ed25519"): return try PublicKey(ed25519: bytes("x", object))
            case ("RSA", _): return try PublicKey(rsaModulus: bytes("n", object), exponent: bytes("e", object))
            default: return nil
            }
        } catch {
            return nil
        }
    }

    private static func point(_ object: JSONObject, _ kind: KeyKind) throws(CryptoError) -> PublicKey {
        try PublicKey(point: [4] + bytes("x", object) + bytes("y", object), on: kind)
    }

    private static func bytes(_ name: String, _ object: JSONObject) throws(CryptoError) -> [UInt8] {
        guard let text = object[name]?.string else { throw .malformedKey }
        do {
            return try Base64.decode(text, alphabet: .urlSafe, padding: .forbidden)
        } catch {
            throw .malformedKey
        }
    }

    /// The set that others verify our tokens with.
    package static func publish(_ keys: [VerificationKey]) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.name("keys")
        json.beginArray()
        for key in keys {
            guard case .pair(let publicKey) = key.material, let algorithm = key.algorithms.first else { continue }
            json.beginObject()
            for (name, value) in members(publicKey) { json.member(name, value) }
            json.member("use", "sig")
            json.member("alg", algorithm.rawValue)
            if let id = key.id { json.member("kid", id) }
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }

    /// The members that RFC 7638 hashes, in its order.
    private static func members(_ key: PublicKey) -> [(String, String)] {
        switch key.kind {
        case .p256: curve(key, "P-256")
        case .p384: curve(key, "P-384")
        case .ed25519: [("crv", "Ed25519"), ("kty", "OKP"), ("x", Base64.encodeURL(Array(key.spki.suffix(32))))]
        case .p521, .rsa: []
        }
    }

    private static func curve(_ key: PublicKey, _ name: String) -> [(String, String)] {
        guard let point = key.point else { return [] }
        let half = (point.count - 1) / 2
        return [
            ("crv", name), ("kty", "EC"), ("x", Base64.encodeURL(Array(point[1...half]))),
            ("y", Base64.encodeURL(Array(point[(half + 1)...]))),
        ]
    }

    /// The thumbprint of RFC 7638, which names our own keys; nil for kinds that we do not sign with.
    package static func thumbprint(_ key: PublicKey) -> String? {
        let members = members(key)
        if members.isEmpty { return nil }
        var json = JSONWriter(capacity: 256)
        json.beginObject()
        for (name, value) in members { json.member(name, value) }
        json.endObject()
        return Base64.encodeURL(SHA256.hash(json.bytes).bytes)
    }
}
