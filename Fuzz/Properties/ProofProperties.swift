// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Crypto
import Encodings
import Glibc

/// What must hold for every proof: no input traps, and none is accepted whose signed parts are not those of a proof
/// that was made with the private key.
package enum ProofProperties {
    /// An App Attest attestation: the input is the CBOR object.
    package static func attestation(_ bytes: [UInt8]) {
        let facts = AppleFacts.shared
        let verdict = facts.verifier.verdict(
            onObject: bytes,
            keyID: facts.keyID,
            clientDataHash: facts.clientDataHash,
            at: facts.moment
        )
        guard case .accepted = verdict else { return }
        let object = try? CBORReader.value(of: bytes)
        ReaderProperties.require(
            object?["authData"] == facts.object["authData"],
            "an attestation was accepted whose authenticator data nobody signed"
        )
        ReaderProperties.require(
            object?["attStmt"]?["x5c"]?.array?[0] == facts.object["attStmt"]?["x5c"]?.array?[0],
            "an attestation was accepted with another leaf"
        )
    }

    /// An App Attest assertion: the input is the CBOR object.
    package static func assertion(_ bytes: [UInt8]) {
        let facts = AssertionFacts.shared
        let verdict = facts.verifier.verdict(
            onObject: bytes,
            key: facts.key,
            previousCounter: 0,
            clientDataHash: facts.clientDataHash
        )
        guard case .accepted = verdict else { return }
        let object = try? CBORReader.value(of: bytes)
        ReaderProperties.require(
            facts.signed.contains(object?["authenticatorData"]?.bytes ?? []),
            "an assertion was accepted whose data nobody signed"
        )
    }

    /// A certificate, and the attestation extension that it may hold.
    package static func certificate(_ bytes: [UInt8]) {
        _ = try? KeyDescription(parsing: bytes)
        guard let certificate = try? Certificate(der: bytes) else { return }
        _ = certificate.isSigned(byKeyOf: certificate)
        _ = certificate.maySignCertificates
        _ = certificate.serialText
        if let value = certificate.value(of: KeyDescription.extensionIdentifier) {
            _ = try? KeyDescription(parsing: value)
        }
    }

    /// The value of an attestation extension.
    package static func keyDescription(_ bytes: [UInt8]) {
        guard let description = try? KeyDescription(parsing: bytes) else { return }
        ReaderProperties.require(description.challenge.count <= bytes.count, "a challenge out of nothing")
    }

    /// An Android chain: the input is one certificate after the other.
    package static func chain(_ bytes: [UInt8]) {
        var cursor = DERCursor(bytes)
        var chain: [[UInt8]] = []
        while !cursor.isAtEnd, chain.count < 12 {
            guard let element = try? cursor.next() else {
                chain.append(Array(bytes.suffix(1_000)))
                break
            }
            chain.append(element.encoded)
        }
        let facts = ChainFacts.shared
        let verdict = facts.verifier.verdict(onEncodedChain: chain, challenges: facts.challenges, at: facts.moment)
        guard verdict.trust == .hardware else { return }
        // The signature itself may be written in more than one way; what it covers may not change.
        let signed = signedPart(chain[0]) ?? []
        ReaderProperties.require(facts.signed.contains(signed), "a chain counts as hardware whose leaf nobody signed")
    }

    /// A Play Integrity token: as it is, as the signed token within, and as the payload within that.
    package static func token(_ bytes: [UInt8]) {
        let facts = TokenFacts.shared
        let text = String(decoding: bytes, as: UTF8.self)
        func verdict(_ token: String) -> IntegrityVerdict {
            facts.verifier.verdict(on: token, keys: [facts.keys], nonce: facts.nonce, at: facts.moment)
        }
        let outer = verdict(text)
        ReaderProperties.require(
            outer.trust != .pass || facts.tokens.contains(text),
            "a token passed that Google did not make"
        )
        let inner = verdict(facts.seal(bytes))
        ReaderProperties.require(
            inner.trust != .pass || facts.signed.contains { text.hasPrefix($0) },
            "a payload passed that Google did not sign"
        )
        if let payload = try? JSONValue(parsing: bytes).object {
            _ = facts.verifier.verdict(onPayload: payload, nonce: facts.nonce, at: facts.moment)
        }
    }

    /// Documents that an operator or a vendor gives: status lists, manifests, accounts, vectors.
    package static func document(_ bytes: [UInt8]) {
        _ = try? StatusList(parsing: bytes)
        _ = try? TrustBundle(manifest: bytes) { BuiltInTrust.text(ofFile: $0).map { Array($0.utf8) } }
        _ = try? ServiceAccount(parsing: bytes)
        _ = try? ProofVector(parsing: bytes).judged(at: Moment(seconds: 0)) { BuiltInTrust.text(ofFile: $0) }
    }

    static func signedPart(_ certificate: [UInt8]) -> [UInt8]? {
        var fields = try? DERCursor.only(.sequence, in: certificate).cursor
        return try? fields?.next().encoded
    }
}

/// The facts of one vector, read when a target first needs them.
enum VectorFile {
    /// Every vector of a folder: what their signed parts are, somebody with the key has signed.
    static func documents(_ folder: String) -> [JSONValue] {
        guard let directory = unsafe opendir("Tests/Vectors/\(folder)") else { return [] }
        defer { unsafe closedir(directory) }
        var documents: [JSONValue] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
                unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasSuffix(".json") else { continue }
            documents.append(document("\(folder)/\(name.dropLast(5))"))
        }
        return documents
    }

    static func document(_ path: String) -> JSONValue {
        guard let file = unsafe fopen("Tests/Vectors/\(path).json", "re") else {
            preconditionFailure("run at the top of the repository")
        }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        guard let document = try? JSONValue(parsing: Array(bytes.prefix(count)), limits: .document) else {
            preconditionFailure("\(path) is no vector")
        }
        return document
    }

    static func bytes(_ value: JSONValue?) -> [UInt8] {
        (try? Base64.decode(value?.string ?? "")) ?? []
    }

    static func moment(_ document: JSONValue) -> Moment {
        Moment(milliseconds: InternetTime.milliseconds(of: document["verify_at"]?.string ?? "") ?? 0)
    }

    static func appleApps(_ document: JSONValue) -> [AppleApp] {
        (document["registered_apps"]?.array ?? []).map { pair in
            AppleApp(teamID: pair["team_id"]?.string ?? "", bundleID: pair["bundle_id"]?.string ?? "")
        }
    }

    static func androidApps(_ document: JSONValue) -> [AndroidApp] {
        (document["registered_apps"]?.array ?? []).compactMap { pair in
            AndroidApp(
                package: pair["package"]?.string ?? "",
                fingerprints: (pair["sha256"]?.array ?? []).compactMap(\.string)
            )
        }
    }

    static func anchors(_ document: JSONValue) -> [TrustAnchor] {
        (document["trust_roots"]?.array ?? []).flatMap { root in
            let name = root.string ?? ""
            let text = name.hasPrefix("-----") ? name : BuiltInTrust.text(ofFile: name) ?? ""
            return (try? TrustAnchor.anchors(pem: text)) ?? []
        }
    }
}

struct AppleFacts: Sendable {
    static let shared = AppleFacts()
    let verifier: AppAttestationVerifier
    let keyID: [UInt8]
    let clientDataHash: [UInt8]
    let moment: Moment
    let object: CBORValue

    init() {
        let document = VectorFile.document("app-attest/real-att-prod-apple-guide-ios27")
        verifier = AppAttestationVerifier(
            anchors: VectorFile.anchors(document),
            apps: VectorFile.appleApps(document),
            environments: [.production, .development]
        )
        keyID = VectorFile.bytes(document["input"]?["key_id"])
        clientDataHash = VectorFile.bytes(document["input"]?["client_data_hash"])
        moment = VectorFile.moment(document)
        object = (try? CBORReader.value(of: VectorFile.bytes(document["input"]?["attestation"]))) ?? .null
    }
}

struct AssertionFacts: Sendable {
    static let shared = AssertionFacts()
    let verifier: AppAssertionVerifier
    let key: AssertionKey
    let clientDataHash: [UInt8]
    let signed: Set<[UInt8]>

    init() {
        let document = VectorFile.document("app-attest/syn-asr-ios27-ext-flag-clear")
        verifier = AppAssertionVerifier(apps: VectorFile.appleApps(document))
        guard let key = try? AssertionKey(point: VectorFile.bytes(document["input"]?["public_key"])) else {
            preconditionFailure("the vector's key is a key")
        }
        self.key = key
        clientDataHash = VectorFile.bytes(document["input"]?["client_data_hash"])
        let signed = VectorFile.documents("app-attest").compactMap { document in
            try? CBORReader.value(of: VectorFile.bytes(document["input"]?["assertion"]))["authenticatorData"]?.bytes
        }
        self.signed = Set(signed)
    }
}

struct ChainFacts: Sendable {
    static let shared = ChainFacts()
    let verifier: KeyAttestationVerifier
    let challenges: [[UInt8]]
    let moment: Moment
    let signed: Set<[UInt8]>

    init() {
        let document = VectorFile.document("android-key/syn-rkp-ecdsa-root")
        verifier = KeyAttestationVerifier(
            anchors: TrustAnchors(apple: [], android: VectorFile.anchors(document)),
            apps: VectorFile.androidApps(document),
            statusList: .empty
        )
        challenges = (document["expected_challenges"]?.array ?? []).map { VectorFile.bytes($0) }
        moment = VectorFile.moment(document)
        let signed = VectorFile.documents("android-key").compactMap { document in
            ProofProperties.signedPart(VectorFile.bytes(document["input"]?["certificate_chain"]?.array?.first))
        }
        self.signed = Set(signed)
    }
}

struct TokenFacts: Sendable {
    static let shared = TokenFacts()
    let verifier: IntegrityVerifier
    let keys: PlayIntegrityKeys
    let nonce: String
    let moment: Moment
    let tokens: Set<String>
    let signed: [String]
    private let decryption: SecretBytes

    init() {
        let document = VectorFile.document("play-integrity/pass")
        verifier = IntegrityVerifier(apps: VectorFile.androidApps(document))
        let input = document["input"]
        guard
            let keys = try? PlayIntegrityKeys(
                decryptionKey: input?["decryption_key"]?.string ?? "",
                verificationKey: input?["verification_key"]?.string ?? ""
            )
        else { preconditionFailure("the vector's keys are keys") }
        self.keys = keys
        nonce = document["expected_nonce"]?.string ?? ""
        moment = VectorFile.moment(document)
        let decryption = SecretBytes(VectorFile.bytes(input?["decryption_key"]).span)
        self.decryption = decryption
        let tokens = VectorFile.documents("play-integrity").compactMap { $0["input"]?["token"]?.string }
        self.tokens = Set(tokens)
        signed = tokens.compactMap { Self.inner(of: $0, key: decryption) }
    }

    /// Head and payload of the signed token within, which its signature covers.
    private static func inner(of token: String, key: SecretBytes) -> String? {
        let parts = token.split(separator: ".").map { part in
            (try? Base64.decode(String(part), alphabet: .urlSafe, padding: .forbidden)) ?? []
        }
        let head = Array(token.prefix { $0 != "." }.utf8)
        guard parts.count == 5, let content = try? AESKeyWrap.unwrap(parts[1], key: key),
            let box = try? SealedBox(nonce: parts[2], ciphertext: parts[3], tag: parts[4]),
            let plain = try? AES256GCM.open(box, key: content, context: head)
        else { return nil }
        let inner = String(decoding: plain, as: UTF8.self).split(separator: ".")
        return inner.count == 3 ? "\(inner[0]).\(inner[1])." : nil
    }

    /// `bytes` in an envelope that opens.
    func seal(_ bytes: [UInt8]) -> String {
        let head = Base64.encodeURL(Array(#"{"alg":"A256KW","enc":"A256GCM"}"#.utf8))
        let content = SecretBytes([UInt8](repeating: 7, count: 32).span)
        guard let wrapped = try? AESKeyWrap.wrap(content, key: decryption),
            let box = try? AES256GCM.seal(
                bytes,
                key: content,
                nonce: [UInt8](repeating: 0, count: 12),
                context: Array(head.utf8)
            )
        else { return "" }
        let parts = [wrapped, box.nonce, box.ciphertext, box.tag].map { Base64.encodeURL($0) }
        return ([head] + parts).joined(separator: ".")
    }
}
