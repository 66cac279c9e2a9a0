// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings
import Testing

@testable import Credentials

/// Every way of attack that is known to us, each beside a good sibling that differs in that one thing.
@Suite struct TokenAttackTests {
    private typealias F = TokenForge
    private let forge: TokenForge

    init() throws {
        forge = try TokenForge.shared.get()
    }

    @Test func `the good siblings are taken`() throws {
        #expect(forge.judge(try forge.es256()) == nil)
        for (id, key, name, algorithm) in [
            ("k2", forge.es384, "ES384", SignatureAlgorithm.ecdsa(.sha384)), ("k3", forge.edDSA, "EdDSA", .ed25519),
            ("k4", forge.rsa, "RS256", .rsaPKCS1(.sha256)), ("k4", forge.rsa, "PS256", .rsaPSS(.sha256)),
        ] {
            let token = try forge.sign(F.header(name, [("kid", "\"\(id)\"")]), F.claims(), with: key, algorithm)
            #expect(forge.judge(token) == nil, "\(name)")
        }
        let own = try forge.es256(F.ownHeader(forge.signer().keyID), F.ownClaims())
        #expect(try forge.judgeOwn(own) == nil)
        let secret = SecretBytes(forge.secret.span)
        let keys = VerificationKeySet([VerificationKey(id: nil, secret: secret)])
        let shared = try JOSEToken(parsing: forge.hmac(F.header("HS256"), F.claims(), key: forge.secret).utf8.span)
        #expect(throws: Never.self) { try forge.issuer([.hs256]).verify(shared, keys: keys, now: F.now) }
    }

    @Test(arguments: [
        ("alg none", F.header("none"), TokenFault.wrongAlgorithm), ("alg None", F.header("None"), .wrongAlgorithm),
        ("alg empty", F.header(""), .wrongAlgorithm), ("alg lower case", F.header("es256"), .wrongAlgorithm),
        ("alg missing", F.header("ES256", [("alg", nil)]), .malformed),
        ("alg a number", F.header("ES256", [("alg", "1")]), .malformed),
        ("alg a list", F.header("ES256", [("alg", "[\"ES256\"]")]), .malformed),
        ("alg twice", "{\"alg\":\"ES256\",\"alg\":\"none\",\"kid\":\"k1\"}", .malformed),
        ("alg twice by escape", "{\"alg\":\"ES256\",\"\\u0061lg\":\"none\",\"kid\":\"k1\"}", .malformed),
        ("alg not allowed", F.header("HS256"), .wrongAlgorithm), ("alg of another key", F.header("ES384"), .unknownKey),
        ("alg of RSA on a curve key", F.header("RS256"), .unknownKey), ("ES512", F.header("ES512"), .wrongAlgorithm),
        ("kid unknown", F.header("ES256", [("kid", "\"k9\"")]), .unknownKey),
        ("kid of another kind", F.header("ES256", [("kid", "\"k4\"")]), .unknownKey),
        ("kid a path", F.header("ES256", [("kid", "\"../../dev/null\"")]), .unknownKey),
        ("kid an injection", F.header("ES256", [("kid", "\"k1' OR '1'='1\"")]), .unknownKey),
        ("kid a number", F.header("ES256", [("kid", "1")]), .malformed),
        ("kid too long", F.header("ES256", [("kid", "\"\(String(repeating: "k", count: 257))\"")]), .malformed),
        ("jku", F.header("ES256", [("jku", "\"https://evil.example/keys\"")]), .forbiddenHeader),
        ("x5u", F.header("ES256", [("x5u", "\"https://evil.example/cert\"")]), .forbiddenHeader),
        ("x5c", F.header("ES256", [("x5c", "[\"MIIB\"]")]), .forbiddenHeader),
        ("jwk", F.header("ES256", [("jwk", "{\"kty\":\"EC\"}")]), .forbiddenHeader),
        ("crit", F.header("ES256", [("crit", "[\"exp\"]")]), .forbiddenHeader),
        ("b64", F.header("ES256", [("b64", "false")]), .forbiddenHeader),
        ("zip", F.header("ES256", [("zip", "\"DEF\"")]), .forbiddenHeader),
        ("nested", F.header("ES256", [("cty", "\"JWT\"")]), .forbiddenHeader),
        ("encrypted", F.header("ES256", [("enc", "\"A256GCM\"")]), .forbiddenHeader),
        ("typ of ours", F.header("ES256", [("typ", "\"sallyport-person+jwt\"")]), .wrongType),
        ("typ unknown", F.header("ES256", [("typ", "\"secevent+jwt\"")]), .wrongType),
        ("typ a number", F.header("ES256", [("typ", "1")]), .malformed), ("not an object", "[\"ES256\"]", .malformed),
        ("trailing bytes", F.header("ES256") + " x", .malformed), ("two objects", F.header("ES256") + "{}", .malformed),
        ("a byte order mark", "\u{FEFF}" + F.header("ES256"), .malformed),
        ("too large", F.header("ES256", [("x", "\"\(String(repeating: "x", count: 2_100))\"")]), .malformed),
        ("too deep", F.header("ES256", [("x", "[[[[[[1]]]]]]")]), .malformed), ("empty", "", .malformed),
    ])
    private func `a header that lies is refused`(name: String, header: String, fault: TokenFault) throws {
        #expect(forge.judge(try forge.es256(header)) == fault, "\(name)")
    }

    @Test(arguments: [
        ("other issuer", F.claims([("iss", "\"https://evil.example/\"")]), TokenFault.wrongIssuer),
        ("issuer without its slash", F.claims([("iss", "\"https://login.example.com\"")]), .wrongIssuer),
        ("issuer in capitals", F.claims([("iss", "\"https://LOGIN.example.com/\"")]), .wrongIssuer),
        ("issuer missing", F.claims([("iss", nil)]), .badClaims),
        ("issuer a list", F.claims([("iss", "[]")]), .badClaims),
        ("other audience", F.claims([("aud", "\"other-api\"")]), .wrongAudience),
        ("audience a prefix", F.claims([("aud", "\"acme-api-admin\"")]), .wrongAudience),
        ("audience missing", F.claims([("aud", nil)]), .badClaims),
        ("audience empty", F.claims([("aud", "[]")]), .badClaims),
        ("audience mixed", F.claims([("aud", "[\"acme-api\",1]")]), .badClaims),
        ("audience an object", F.claims([("aud", "{\"acme-api\":1}")]), .badClaims),
        (
            "audiences too many",
            F.claims([("aud", "[\(Array(repeating: "\"acme-api\"", count: 17).joined(separator: ","))]")]), .badClaims
        ),
        ("exp missing", F.claims([("exp", nil)]), .badClaims),
        ("exp a text", F.claims([("exp", "\"9999999999\"")]), .badClaims),
        ("exp null", F.claims([("exp", "null")]), .badClaims), ("exp negative", F.claims([("exp", "-1")]), .badClaims),
        ("exp endless", F.claims([("exp", "1e300")]), .badClaims),
        ("exp in milliseconds", F.claims([("exp", "\(F.now + 300_000)")]), .badClaims),
        (
            "exp at the end of the leeway", F.claims([("exp", "\(F.seconds(-60))"), ("iat", "\(F.seconds(-90))")]),
            .expired
        ),
        ("expired long ago", F.claims([("exp", "\(F.seconds(-9_000))"), ("iat", "\(F.seconds(-9_999))")]), .expired),
        ("nbf ahead", F.claims([("nbf", "\(F.seconds(61))")]), .notYetValid),
        ("nbf a text", F.claims([("nbf", "\"0\"")]), .badClaims),
        ("iat ahead", F.claims([("iat", "\(F.seconds(61))")]), .notYetValid),
        ("exp before iat", F.claims([("exp", "\(F.seconds(-20))")]), .badClaims),
        ("lives too long", F.claims([("exp", "\(F.seconds(31 * 86_400))")]), .tooLongLived),
        ("sub missing", F.claims([("sub", nil)]), .badClaims), ("sub a number", F.claims([("sub", "17")]), .badClaims),
        ("sub empty", F.claims([("sub", "\"\"")]), .badClaims),
        ("sub with a line end", F.claims([("sub", "\"17\\r\\nx: y\"")]), .badClaims),
        ("sub with a zero", F.claims([("sub", "\"17\\u0000\"")]), .badClaims),
        ("sub twice", "{\"sub\":\"17\"," + F.claims().dropFirst(), .malformed),
        ("iss twice", "{\"iss\":\"https://evil.example/\"," + F.claims().dropFirst(), .malformed),
        ("not an object", "\"claims\"", .malformed), ("trailing bytes", F.claims() + "x", .malformed),
        ("not UTF-8 escapes", F.claims([("sub", "\"\\ud800\"")]), .malformed),
        (
            "too deep", F.claims([("x", String(repeating: "[", count: 9) + String(repeating: "]", count: 9))]),
            .malformed
        ),
        ("too large", F.claims([("x", "\"\(String(repeating: "x", count: 6_200))\"")]), .tooLong),
    ])
    private func `claims that do not hold are refused`(name: String, claims: String, fault: TokenFault) throws {
        #expect(forge.judge(try forge.es256(F.header("ES256"), claims)) == fault, "\(name)")
    }

    @Test(
        arguments: [
            [("exp", "\(F.seconds(-59))"), ("iat", "\(F.seconds(-90))")], [("nbf", "\(F.seconds(60))")],
            [("iat", "\(F.seconds(60))")], [("aud", "[\"other\",\"acme-api\"]")], [("iat", nil)],
            [("exp", "\(F.seconds(300)).5")], [("exp", "\(F.seconds(30 * 86_400 - 10))")], [("extra", "{\"a\":[1,2]}")],
        ] as [[(String, String?)]]
    )
    private func `claims at the right side of each border are taken`(changes: [(String, String?)]) throws {
        #expect(forge.judge(try forge.es256(F.header("ES256"), F.claims(changes))) == nil)
    }

    @Test func `a token whose text is changed anywhere is refused`() throws {
        let good = try forge.es256()
        let parts = good.split(separator: ".").map(String.init)
        let raw = try Base64.decode(parts[2], alphabet: .urlSafe, padding: .forbidden)
        let zero = [UInt8](repeating: 0, count: 32)
        let der = try forge.es256.signature(of: Array((parts[0] + "." + parts[1]).utf8), .ecdsa(.sha256))
        let input = parts[0] + "." + parts[1] + "."
        let cases: [(String, String)] = [
            ("no signature", parts[0] + "." + parts[1]), ("empty signature", input), ("empty", ""), ("dots", ".."),
            ("four segments", good + ".x"), ("JWE", good + ".a.b"), ("padding", good + "="),
            ("a space before", " " + good), ("a line end behind", good + "\n"), ("standard alphabet", good + "+"),
            ("zero r", input + Base64.encodeURL(zero + raw.suffix(32))),
            ("zero s", input + Base64.encodeURL(raw.prefix(32) + zero)),
            ("zero r and s", input + Base64.encodeURL(zero + zero)),
            ("DER instead of raw", input + Base64.encodeURL(der)),
            ("cut", input + Base64.encodeURL(Array(raw.dropLast()))),
            ("longer", input + Base64.encodeURL(raw + [0])),
            ("halves swapped", input + Base64.encodeURL(Array(raw.suffix(32) + raw.prefix(32)))),
            ("other claims", parts[0] + "." + F.encode(F.claims([("sub", "\"18\"")])) + "." + parts[2]),
            ("other header", F.encode(F.header("ES256", [("x", "1")])) + "." + parts[1] + "." + parts[2]),
            ("one MiB", good + String(repeating: "A", count: 1 << 20)),
        ]
        for (name, text) in cases {
            let fault = forge.judge(text)
            #expect(
                fault == .malformed || fault == .badSignature || fault == .tooLong,
                "\(name): \(String(describing: fault))"
            )
        }
        for index in stride(from: 0, to: good.utf8.count, by: 3) {
            var bytes = Array(good.utf8)
            bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(forge.judge(String(decoding: bytes, as: UTF8.self)) != nil, "byte \(index)")
        }
    }

    @Test func `the unused bits of the last character must be zero`() throws {
        let good = try forge.es256()
        // 64 bytes end in two characters of which the last has four unused bits.
        let last = try #require(good.utf8.last)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let value = try #require(alphabet.firstIndex(of: last))
        #expect(value % 16 == 0)
        for extra in 1..<16 {
            let text = String(decoding: Array(good.utf8.dropLast()) + [alphabet[value + extra]], as: UTF8.self)
            #expect(forge.judge(text) == .malformed)
        }
    }

    private func pem(of key: PrivateKey) -> [UInt8] {
        Array(PEMBlock(label: "PUBLIC KEY", bytes: key.publicKey.spki).text.utf8)
    }

    @Test func `a stranger's key and a public key used as a secret are refused`() throws {
        let strange = try forge.sign(F.header("ES256"), F.claims(), with: forge.stranger, .ecdsa(.sha256))
        #expect(forge.judge(strange) == .badSignature)
        for key in [
            forge.es256.publicKey.spki, pem(of: forge.es256), pem(of: forge.rsa),
        ] {
            let confused = forge.hmac(F.header("HS256"), F.claims(), key: key)
            #expect(forge.judge(confused) == .wrongAlgorithm)
            // Not even an issuer that lists HS256 has a key for it in a set of public keys.
            let token = try JOSEToken(parsing: confused.utf8.span)
            #expect(throws: TokenFault.unknownKey) {
                try forge.issuer([.hs256, .es256]).verify(token, keys: forge.keys(), now: F.now)
            }
        }
        let empty = try JOSEToken(parsing: forge.hmac(F.header("HS256"), F.claims(), key: []).utf8.span)
        let keys = VerificationKeySet([VerificationKey(id: nil, secret: SecretBytes(forge.secret.span))])
        #expect(throws: TokenFault.badSignature) { try forge.issuer([.hs256]).verify(empty, keys: keys, now: F.now) }
    }

    @Test func `RSA keys below 2048 bits are no keys`() {
        #expect(VerificationKey(id: "w", publicKey: forge.weakRSA.publicKey, algorithms: [.rs256]) == nil)
        #expect(VerificationKey(id: "r", publicKey: forge.rsa.publicKey, algorithms: [.rs256]) != nil)
    }

    @Test func `a token without kid is taken only where one key fits`() throws {
        let token = try JOSEToken(parsing: forge.es256(F.header("ES256", [("kid", nil)])).utf8.span)
        #expect(throws: Never.self) { try forge.issuer().verify(token, keys: forge.keys(), now: F.now) }
        let two = VerificationKeySet(
            [forge.es256, forge.stranger].compactMap {
                VerificationKey(id: nil, publicKey: $0.publicKey, algorithms: [.es256])
            }
        )
        #expect(throws: TokenFault.unknownKey) { try forge.issuer().verify(token, keys: two, now: F.now) }
    }
}
