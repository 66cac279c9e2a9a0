// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings

/// Makes Play Integrity tokens under a lab's keys, of every verdict that Google may give.
package struct LabPlayTokens: Sendable {
    /// What the token says, or what is wrong with it.
    package enum Verdict: String, Sendable, CaseIterable {
        case pass, basic, virtual, none, unrecognised, unevaluated, unlicensed, testing
        case expired, nonce, otherKey = "other-key", otherSigner = "other-signer", otherPackage = "other-package"
    }

    private let lab: LabAuthorities
    private let app: AndroidApp

    /// Tokens of `app`.
    package init(_ lab: LabAuthorities, app: AndroidApp) {
        self.lab = lab
        self.app = app
    }

    /// A token over `nonce`.
    package func token(nonce: String, verdict: Verdict, at now: Moment) throws(LabError) -> String {
        do {
            let payload = payload(nonce: nonce, verdict, at: now)
            let head = Base64.encodeURL(Array(#"{"alg":"ES256"}"#.utf8))
            let message = "\(head).\(Base64.encodeURL(payload))"
            let signer = verdict == .otherSigner ? try PrivateKey.generate(.p256) : lab.playSigning
            let signature = try signer.rawSignature(of: Array(message.utf8), .ecdsa(.sha256))
            return try sealed("\(message).\(Base64.encodeURL(signature))", verdict)
        } catch {
            throw .crypto(error)
        }
    }

    private func sealed(_ token: String, _ verdict: Verdict) throws(CryptoError) -> String {
        let head = Base64.encodeURL(Array(#"{"alg":"A256KW","enc":"A256GCM"}"#.utf8))
        let key = try SecretBytes(random: 32)
        let wrapping = verdict == .otherKey ? try SecretBytes(random: 32) : lab.playDecryption
        let box = try AES256GCM.seal(Array(token.utf8), key: key, context: Array(head.utf8))
        let parts = [try AESKeyWrap.wrap(key, key: wrapping), box.nonce, box.ciphertext, box.tag]
        return ([head] + parts.map { Base64.encodeURL($0) }).joined(separator: ".")
    }

    private func payload(nonce: String, _ verdict: Verdict, at now: Moment) -> [UInt8] {
        let age: Int64 = verdict == .expired ? 600_000 : 1_000
        let package = verdict == .otherPackage ? "com.example.other" : app.package
        var writer = JSONWriter(capacity: 1_024)
        writer.beginObject()
        writer.name("requestDetails")
        writer.beginObject()
        writer.member("requestPackageName", package)
        writer.member("timestampMillis", String(now.milliseconds - age))
        writer.member("nonce", verdict == .nonce ? "AAAA" : nonce)
        writer.endObject()
        writer.name("appIntegrity")
        writer.beginObject()
        writer.member("appRecognitionVerdict", Self.recognition(verdict))
        writer.member("packageName", package)
        writer.member("certificateSha256Digest", app.signers.map { Base64.encodeURL($0.bytes) })
        writer.member("versionCode", "1")
        writer.endObject()
        writer.name("deviceIntegrity")
        writer.beginObject()
        writer.member("deviceRecognitionVerdict", Self.device(verdict))
        writer.endObject()
        writer.name("accountDetails")
        writer.beginObject()
        writer.member("appLicensingVerdict", verdict == .unlicensed ? "UNLICENSED" : "LICENSED")
        writer.endObject()
        if verdict == .testing {
            writer.name("testingDetails")
            writer.beginObject()
            writer.member("isTestingResponse", true)
            writer.endObject()
        }
        writer.endObject()
        return writer.bytes
    }

    private static func recognition(_ verdict: Verdict) -> String {
        switch verdict {
        case .unrecognised: "UNRECOGNIZED_VERSION"
        case .unevaluated: "UNEVALUATED"
        default: "PLAY_RECOGNIZED"
        }
    }

    private static func device(_ verdict: Verdict) -> [String] {
        switch verdict {
        case .basic: ["MEETS_BASIC_INTEGRITY"]
        case .virtual: ["MEETS_VIRTUAL_INTEGRITY"]
        case .none: []
        default: ["MEETS_BASIC_INTEGRITY", "MEETS_DEVICE_INTEGRITY"]
        }
    }
}
