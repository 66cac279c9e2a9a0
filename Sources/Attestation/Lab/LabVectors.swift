// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
package import Encodings

/// Writes lab proofs as vector files, which `lab judge` and any other verifier of the schema reads.
package struct LabVectors: Sendable {
    private let lab: LabAuthorities
    private let now: Moment

    /// Vectors of `lab` that are judged at `now`.
    package init(_ lab: LabAuthorities, at now: Moment) {
        self.lab = lab
        self.now = now
    }

    /// An attestation of a new key.
    package func attestation(_ proof: LabAppleProofs.Attestation, app: AppleApp, clientDataHash: [UInt8]) -> JSONValue {
        vector(
            "app-attest/1",
            [
                ("kind", .string("attestation")),
                (
                    "input",
                    Self.object([
                        ("key_id", .string(proof.keyID)), ("attestation", .string(proof.object)),
                        ("client_data_hash", .string(Base64.encode(clientDataHash))),
                    ])
                ),
                ("registered_apps", Self.pairs(app)),
                ("policy", Self.object([("allow_development", .bool(true))])),
                ("trust_roots", .array([.string(LabAuthorities.pem(lab.apple.root))])),
            ]
        )
    }

    /// An assertion of a key that was attested before.
    package func assertion(
        _ assertion: String,
        point: [UInt8],
        app: AppleApp,
        previousCounter: UInt32,
        clientDataHash: [UInt8]
    ) -> JSONValue {
        vector(
            "app-attest/1",
            [
                ("kind", .string("assertion")),
                (
                    "input",
                    Self.object([
                        ("key_id", .string(Base64.encode(SHA256.hash(point).bytes))),
                        ("public_key", .string(Base64.encode(point))),
                        ("previous_counter", .number(JSONNumber(Int(previousCounter)))),
                        ("assertion", .string(assertion)),
                        ("client_data_hash", .string(Base64.encode(clientDataHash))),
                    ])
                ),
                ("registered_apps", Self.pairs(app)),
            ]
        )
    }

    /// An Android chain.
    package func chain(_ chain: [String], app: AndroidApp, challenges: [[UInt8]]) -> JSONValue {
        vector(
            "android-key/1",
            [
                ("input", Self.object([("certificate_chain", .array(chain.map { .string($0) }))])),
                ("expected_challenges", .array(challenges.map { .string(Base64.encode($0)) })),
                ("registered_apps", Self.pairs(app)),
                ("revocation", Self.object([("entries", .object(JSONObject()))])),
                ("trust_roots", .array([.string(LabAuthorities.pem(lab.android.root))])),
            ]
        )
    }

    /// A Play Integrity token.
    package func token(_ token: String, app: AndroidApp, nonce: String) -> JSONValue {
        let keys = lab.playKeyTexts
        return vector(
            "play-integrity/1",
            [
                (
                    "input",
                    Self.object([
                        ("token", .string(token)), ("decryption_key", .string(keys.decryption)),
                        ("verification_key", .string(keys.verification)),
                    ])
                ),
                ("expected_nonce", .string(nonce)),
                ("registered_apps", Self.pairs(app)),
                ("max_age_seconds", .number(JSONNumber(300))),
            ]
        )
    }

    private func vector(_ schema: String, _ members: [(String, JSONValue)]) -> JSONValue {
        let time = ("verify_at", JSONValue.string(InternetTime.text(seconds: now.seconds)))
        return Self.object(
            [("schema", .string(schema)), ("id", .string("lab")), ("origin", .string("synthetic"))] + members + [time]
        )
    }

    private static func pairs(_ app: AppleApp) -> JSONValue {
        .array([object([("team_id", .string(app.teamID)), ("bundle_id", .string(app.bundleID))])])
    }

    private static func pairs(_ app: AndroidApp) -> JSONValue {
        let signers = app.signers.map { JSONValue.string(Hex.encode($0.bytes)) }
        return .array([object([("package", .string(app.package)), ("sha256", .array(signers))])])
    }

    private static func object(_ members: [(String, JSONValue)]) -> JSONValue {
        var object = JSONObject()
        for (name, value) in members { object.set(name, value) }
        return .object(object)
    }
}
