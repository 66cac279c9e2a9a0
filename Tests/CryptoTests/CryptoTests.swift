// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings
import Testing

@Suite struct HMACSHA256Tests {
    // RFC 4231, test cases 1 and 2.
    @Test func `codes are those of RFC 4231, also when the computation is used again`() throws {
        let first = HMACSHA256(key: [UInt8](repeating: 0x0b, count: 20).span)
        let second = HMACSHA256(key: Array("Jefe".utf8).span)
        for _ in 0..<3 {
            let code = first.code(for: Array("Hi There".utf8))
            #expect(Hex.encode(code.bytes) == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
            let head = Array("what do ya want ".utf8)
            let tail = Array("for nothing?".utf8)
            let other = second.code(for: head.span, tail.span)
            #expect(Hex.encode(other.bytes) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        }
    }

    @Test func `an empty key is a key`() {
        let code = HMACSHA256(key: [UInt8]().span).code(for: [UInt8]())
        #expect(Hex.encode(code.bytes) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }
}

@Suite struct SHA256Tests {
    @Test func `digests are those of FIPS 180-4`() {
        let computation = SHA256()
        let head = Array("a".utf8)
        let tail = Array("bc".utf8)
        computation.update(head.span)
        computation.update(tail.span)
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(Hex.encode(computation.finish().bytes) == expected)
        let whole = Array("abc".utf8)
        computation.update(whole.span)
        let again = computation.finish()
        #expect(Hex.encode(again.bytes) == expected)
        #expect(SHA256.hash(whole) == again)
        #expect(SHA256.hash(Array("abd".utf8)) != SHA256.hash(Array("abc".utf8)))
    }
}

@Suite struct KeyTests {
    static let cases: [(KeyKind, SignatureAlgorithm)] = [
        (.p256, .ecdsa(.sha256)), (.p384, .ecdsa(.sha384)), (.p384, .ecdsa(.sha256)), (.p521, .ecdsa(.sha512)),
        (.ed25519, .ed25519), (.rsa(bits: 2048), .rsaPKCS1(.sha256)), (.rsa(bits: 2048), .rsaPSS(.sha256)),
    ]

    @Test(arguments: cases)
    func `a signature verifies over its message and no other`(kind: KeyKind, algorithm: SignatureAlgorithm) throws {
        let key = try PrivateKey.generate(kind)
        #expect(key.kind == kind)
        let message = Array("message".utf8)
        var signature = try key.signature(of: message, algorithm)
        let publicKey = try PublicKey(spki: key.publicKey.spki)
        #expect(publicKey.verifies(signature, of: message, algorithm))
        #expect(!publicKey.verifies(signature, of: Array("messagf".utf8), algorithm))
        #expect(!publicKey.verifies([UInt8](), of: message, algorithm))
        signature[signature.count - 1] ^= 1
        #expect(!publicKey.verifies(signature, of: message, algorithm))
        let raw = try key.rawSignature(of: message, algorithm)
        #expect(publicKey.verifies(rawSignature: raw, of: message, algorithm))
        #expect(!publicKey.verifies(rawSignature: raw.dropLast().map { $0 }, of: message, algorithm))
    }

    @Test(arguments: cases.map(\.0))
    func `a private key survives PEM, and shows nothing of itself`(kind: KeyKind) throws {
        let key = try PrivateKey.generate(kind)
        let copy = try PrivateKey(pem: try key.pem())
        #expect(copy.publicKey == key.publicKey)
        #expect("\(key)" == "[private key]")
    }

    @Test(arguments: cases.map(\.0))
    func `a private key is read from bytes that are overwritten`(kind: KeyKind) throws {
        func read(_ text: String) throws -> PrivateKey { try PrivateKey(pem: SecretBytes(Array(text.utf8).span)) }
        let key = try PrivateKey.generate(kind)
        let pem = try key.pem()
        #expect(try read("a comment\n" + pem).publicKey == key.publicKey)
        for other in ["", "no key\n", String(pem.prefix(60))] {
            #expect(throws: CryptoError.malformedKey) { try read(other) }
        }
    }

    @Test func `a key refuses algorithms of other kinds`() throws {
        let key = try PrivateKey.generate(.p256)
        #expect(throws: CryptoError.algorithmMismatch) { try key.signature(of: [UInt8](), .rsaPKCS1(.sha256)) }
    }

    @Test func `a point off the curve, a short one and a zero signature are refused`() throws {
        let key = try PrivateKey.generate(.p256)
        var point = try #require(key.publicKey.point)
        #expect(try PublicKey(point: point, on: .p256) == key.publicKey)
        point[64] ^= 1
        #expect(throws: CryptoError.malformedKey) { try PublicKey(point: point, on: .p256) }
        #expect(throws: CryptoError.malformedKey) { try PublicKey(point: Array(point.dropLast()), on: .p256) }
        let zeros = [UInt8](repeating: 0, count: 64)
        #expect(!key.publicKey.verifies(rawSignature: zeros, of: zeros, .ecdsa(.sha256)))
    }

    @Test func `RSA keys of odd sizes and exponents are refused`() throws {
        let key = try PrivateKey.generate(.rsa(bits: 2048))
        let modulus = Array(key.publicKey.spki.dropFirst(33).prefix(256))
        #expect(try PublicKey(rsaModulus: modulus, exponent: [1, 0, 1]) == key.publicKey)
        #expect(throws: CryptoError.unsupportedKey) { try PublicKey(rsaModulus: modulus, exponent: [1]) }
        #expect(throws: CryptoError.unsupportedKey) { try PublicKey(rsaModulus: modulus, exponent: [2]) }
        #expect(throws: CryptoError.unsupportedKey) {
            try PublicKey(rsaModulus: modulus, exponent: [1, 0, 0, 0, 0, 1])
        }
        #expect(throws: CryptoError.unsupportedKey) {
            try PublicKey(rsaModulus: Array(modulus.prefix(64)), exponent: [1, 0, 1])
        }
    }
}

@Suite struct AES256GCMTests {
    @Test func `a sealed text opens under its key and context only`() throws {
        let key = try SecretBytes(random: 32)
        let box = try AES256GCM.seal(Array("text".utf8), key: key, context: [1])
        let copy = try SealedBox(combined: box.combined)
        #expect(try AES256GCM.open(copy, key: key, context: [1]) == Array("text".utf8))
        #expect(throws: CryptoError.authenticationFailed) { try AES256GCM.open(box, key: key, context: [2]) }
        #expect(throws: CryptoError.authenticationFailed) { try AES256GCM.open(box, key: SecretBytes(random: 32)) }
        #expect(throws: CryptoError.illegalLength) {
            try SealedBox(nonce: box.nonce, ciphertext: box.ciphertext, tag: Array(box.tag.prefix(4)))
        }
        let empty = try AES256GCM.seal([], key: key)
        #expect(try AES256GCM.open(empty, key: key) == [])
    }

    // RFC 3394 section 4.6.
    @Test func `keys wrap as in RFC 3394`() throws {
        var bytes = try Hex.decode("000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F")
        let wrapping = SecretBytes(wiping: &bytes)
        let secret = try Hex.decode("00112233445566778899AABBCCDDEEFF000102030405060708090A0B0C0D0E0F")
        let wrappedSecret = SecretBytes(secret.span)
        var wrapped = try AESKeyWrap.wrap(wrappedSecret, key: wrapping)
        #expect(
            Hex.encode(wrapped)
                == "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"
        )
        #expect(try AESKeyWrap.unwrap(wrapped, key: wrapping).copy() == secret)
        wrapped[3] ^= 1
        #expect(throws: CryptoError.authenticationFailed) { try AESKeyWrap.unwrap(wrapped, key: wrapping) }
    }
}

@Suite struct SecretBytesTests {
    @Test func `a secret is not printed`() throws {
        var bytes = Array("hunter2".utf8)
        let secret = SecretBytes(wiping: &bytes)
        var dumped = ""
        dump(secret, to: &dumped)
        #expect("\(secret)" == "[secret]")
        #expect(!dumped.contains("hunter") && !dumped.contains("0x"))
        #expect(secret.copy() == Array("hunter2".utf8) && bytes.isEmpty)
    }
}

@Suite struct CertificateTests {
    @Test func `a certificate says what was asked for and verifies under its issuer only`() throws {
        let authority = try PrivateKey.generate(.p384)
        var request = try CertificateRequest(commonName: "root", key: authority.publicKey, validity: 0...4_102_444_800)
        request.isAuthority = true
        let root = try Certificate(der: try request.signed(by: authority))
        let leafKey = try PrivateKey.generate(.p256)
        var leafRequest = try CertificateRequest(commonName: "leaf", key: leafKey.publicKey, validity: -1...5)
        leafRequest.serial = [0, 3, 0x88]
        let der = try leafRequest.signed(by: authority, issuer: request.name)
        let leaf = try Certificate(der: der)
        #expect(root.isAuthority && !leaf.isAuthority)
        #expect(
            leaf.issuer == root.subject && leaf.validity?.notBefore == -1 && leaf.validity?.notAfter == 5
                && leaf.serialText == "388"
        )
        #expect(leaf.isSigned(by: try root.publicKey()) && root.isSigned(by: authority.publicKey))
        #expect(!leaf.isSigned(by: leafKey.publicKey))
        #expect(leaf.isValid(at: 5) && !leaf.isValid(at: 6))
        #expect(throws: CryptoError.malformedCertificate) { try Certificate(der: der + [0]) }
        #expect(throws: CryptoError.malformedCertificate) { try Certificate(der: Array(der.dropLast())) }
    }
}

extension PublicKey {
    /// For expectations, which take no spans.
    fileprivate func verifies(_ signature: [UInt8], of message: [UInt8], _ algorithm: SignatureAlgorithm) -> Bool {
        verifies(signature.span, of: message.span, algorithm)
    }
}
