// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// A signed token in compact form (RFC 7515 7.1), taken apart but not yet believed.
///
/// One byte string has one reading: canonical base64url, strict JSON without double members, three segments.
package struct JOSEToken: Sendable {
    package let algorithm: TokenAlgorithm
    package let type: String?
    package let keyID: String?
    let payload: JSONObject
    /// The bytes that are signed.
    let signingInput: [UInt8]
    let signature: [UInt8]

    /// The longest token: twice what the fattest identity provider sends, and it has to pass as a header field.
    private static let maximumLength = 8_192
    private static let headerLimits = JSONLimits(bytes: 2_048, depth: 4, values: 64)
    private static let payloadLimits = JSONLimits(bytes: 6_144, depth: 8, values: 512)
    private static let maximumKeyIDLength = 256

    /// Members that name a key or change the reading (RFC 8725 3.10): none of ours or of an honest issuer needs them.
    private static let forbidden = ["b64", "crit", "cty", "enc", "epk", "jku", "jwk", "x5c", "x5u", "zip"]

    package init(parsing text: Span<UInt8>) throws(TokenFault) {
        guard text.count <= Self.maximumLength else { throw .tooLong }
        guard let dots = Self.dots(text) else { throw .malformed }
        let header = try Self.object(text.extracting(0..<dots.first), Self.headerLimits)
        let claims = text.extracting((dots.first + 1)..<dots.second)
        for name in Self.forbidden where header[name] != nil { throw .forbiddenHeader }
        guard let name = header["alg"]?.string else { throw .malformed }
        guard let algorithm = TokenAlgorithm(rawValue: name) else { throw .wrongAlgorithm }
        self.algorithm = algorithm
        type = try Self.text("typ", in: header)
        keyID = try Self.text("kid", in: header)
        payload = try Self.object(claims, Self.payloadLimits)
        signature = try Self.bytes(text.extracting((dots.second + 1)..<text.count))
        var input: [UInt8] = []
        input.reserveCapacity(dots.second)
        for index in 0..<dots.second { input.append(text[index]) }
        signingInput = input
    }

    /// The two dots; nil when there are fewer or more, or when a segment is empty.
    private static func dots(_ text: Span<UInt8>) -> (first: Int, second: Int)? {
        var found: [Int] = []
        for index in text.indices where text[index] == UInt8(ascii: ".") {
            if found.count == 2 { return nil }
            found.append(index)
        }
        guard found.count == 2, found[0] > 0, found[1] > found[0] + 1, text.count > found[1] + 1 else { return nil }
        return (found[0], found[1])
    }

    private static func bytes(_ segment: Span<UInt8>) throws(TokenFault) -> [UInt8] {
        do {
            return try Base64.decode(segment, alphabet: .urlSafe, padding: .forbidden)
        } catch {
            throw .malformed
        }
    }

    private static func object(_ segment: Span<UInt8>, _ limits: JSONLimits) throws(TokenFault) -> JSONObject {
        let bytes = try bytes(segment)
        do {
            guard let object = try JSONValue(parsing: bytes, limits: limits).object else { throw TokenFault.malformed }
            return object
        } catch {
            throw .malformed
        }
    }

    private static func text(_ name: String, in header: JSONObject) throws(TokenFault) -> String? {
        guard let value = header[name] else { return nil }
        guard let text = value.string, text.utf8.count <= maximumKeyIDLength else { throw .malformed }
        return text
    }
}
