// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import COpenSSL
import Crypto
import Encodings
import Glibc

/// A digest of the library, fetched once: the comparison is with the fastest plain use of the library.
@safe
final class DigestMethod: @unchecked Sendable {
    // Proof for @unchecked: the pointer never changes and method objects are immutable.
    let pointer: OpaquePointer

    init(_ name: String) {
        guard let method = unsafe EVP_MD_fetch(nil, name, nil) else { preconditionFailure(name) }
        unsafe pointer = method
    }
}

let sha256Method = DigestMethod("SHA256")
let sha384Method = DigestMethod("SHA384")

/// A loaded key and one reused context: nothing but the check itself.
@safe
final class BareKey {
    private let key: OpaquePointer
    private let context: OpaquePointer

    init(spki: [UInt8]) {
        let key: OpaquePointer? = unsafe spki.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_PUBKEY(nil, &position, bytes.count)
        }
        guard let key = unsafe key, let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("key") }
        unsafe self.key = key
        unsafe self.context = context
    }

    func verifies(_ signature: [UInt8], _ message: [UInt8], _ method: DigestMethod) -> Bool {
        unsafe EVP_MD_CTX_reset(context) == 1
            && EVP_DigestVerifyInit(context, nil, method.pointer, nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}

/// One signature of a chain, taken apart beforehand.
struct Link {
    let key: BareKey
    let signature: [UInt8]
    let message: [UInt8]
    let method: DigestMethod

    init(_ der: [UInt8], signedBy issuer: [UInt8]) throws {
        var fields = try DERCursor.only(.sequence, in: der).cursor
        message = try fields.next().encoded
        let algorithm = try fields.next().encoded
        signature = Array(try fields.next().bytes.dropFirst())
        key = BareKey(spki: try Certificate(der: issuer).spki)
        // ecdsa-with-SHA384 ends in 4.3.3, sha384WithRSA in 1.1.12.
        let usesSHA384 = algorithm.contains(0x03) && algorithm.suffix(1) == [0x03]
        method = usesSHA384 ? sha384Method : sha256Method
    }
}

/// A real chain of five certificates, with the time and facts of its vector.
struct FiveCertificates {
    let chain: [String]
    let challenges: [[UInt8]]
    let app: AndroidApp
    let anchors: TrustAnchors
    let moment: Moment

    init() throws {
        let vector = try JSONValue(parsing: try Self.text(), limits: .document)
        chain = (vector["input"]?["certificate_chain"]?.array ?? []).compactMap(\.string)
        challenges = try (vector["expected_challenges"]?.array ?? []).map { try Base64.decode($0.string ?? "") }
        let pair = vector["registered_apps"]?.array?.first
        app = AndroidApp(
            package: pair?["package"]?.string ?? "",
            signers: (pair?["sha256"]?.array ?? []).compactMap { AndroidApp.digest(fingerprint: $0.string ?? "") }
        )
        anchors = try TrustBundle.builtIn().anchors
        moment = Moment(milliseconds: InternetTime.milliseconds(of: vector["verify_at"]?.string ?? "") ?? 0)
        precondition(chain.count == 5, "the chain has five certificates")
    }

    /// The vector's file, from the top of the repository.
    private static func text() throws -> [UInt8] {
        guard let file = unsafe fopen("Tests/Vectors/android-key/real-pixel9pro-tee-v400-rkp.json", "re") else {
            preconditionFailure("run at the top of the repository")
        }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        return Array(bytes.prefix(count))
    }

    var links: [Link] {
        do {
            let certificates = try chain.map { try Base64.decode($0) }
            return try zip(certificates, certificates.dropFirst()).map { try Link($0, signedBy: $1) }
        } catch {
            preconditionFailure("\(error)")
        }
    }
}

/// A token whose parts are decoded beforehand: what is left is unwrapping, decrypting and checking.
@safe
final class BareToken {
    private let wrapped: [UInt8]
    private let nonce: [UInt8]
    private let ciphertext: [UInt8]
    private let tag: [UInt8]
    private let head: [UInt8]
    private let key: [UInt8]
    private let cipher: OpaquePointer
    private let wrap: OpaquePointer
    private let gcm: OpaquePointer
    private(set) var signature: [UInt8] = []
    private(set) var message: [UInt8] = []
    private var plaintext: [UInt8]

    init(_ token: String, decryptionKey: String) throws {
        let parts = token.split(separator: ".").map { String($0) }
        head = Array(parts[0].utf8)
        wrapped = try Base64.decode(parts[1], alphabet: .urlSafe, padding: .forbidden)
        nonce = try Base64.decode(parts[2], alphabet: .urlSafe, padding: .forbidden)
        ciphertext = try Base64.decode(parts[3], alphabet: .urlSafe, padding: .forbidden)
        tag = try Base64.decode(parts[4], alphabet: .urlSafe, padding: .forbidden)
        key = try Base64.decode(decryptionKey)
        plaintext = [UInt8](repeating: 0, count: ciphertext.count)
        guard let cipher = unsafe EVP_CIPHER_CTX_new(), let wrap = unsafe EVP_CIPHER_fetch(nil, "AES-256-WRAP", nil),
            let gcm = unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)
        else { preconditionFailure("cipher") }
        unsafe self.cipher = cipher
        unsafe self.wrap = wrap
        unsafe self.gcm = gcm
        precondition(opens(), "the token opens")
        let inner = String(decoding: plaintext, as: UTF8.self).split(separator: ".").map { String($0) }
        message = Array("\(inner[0]).\(inner[1])".utf8)
        let raw = try Base64.decode(inner[2], alphabet: .urlSafe, padding: .forbidden)
        signature = ECDSASignature.der(raw: raw.span) ?? []
    }

    func opens() -> Bool {
        var written: CInt = 0
        var content = [UInt8](repeating: 0, count: 48)
        var tag = tag
        unsafe EVP_CIPHER_CTX_reset(cipher)
        unsafe EVP_CIPHER_CTX_set_flags(cipher, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW)
        return unsafe EVP_DecryptInit_ex2(cipher, wrap, key, nil, nil) == 1
            && EVP_DecryptUpdate(cipher, &content, &written, wrapped, CInt(wrapped.count)) == 1
            && EVP_CIPHER_CTX_reset(cipher) == 1
            && EVP_DecryptInit_ex2(cipher, gcm, content, nonce, nil) == 1
            && EVP_DecryptUpdate(cipher, nil, &written, head, CInt(head.count)) == 1
            && EVP_DecryptUpdate(cipher, &plaintext, &written, ciphertext, CInt(ciphertext.count)) == 1
            && EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1
            && EVP_DecryptFinal_ex(cipher, nil, &written) == 1
    }
}
