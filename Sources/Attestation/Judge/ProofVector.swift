// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Encodings

/// A proof with everything that its verdict depends on, in the schema of the shared vectors.
///
/// Whoever holds such a file can check our verifiers from outside: same file, same verdict, at any time.
package struct ProofVector: Sendable {
    /// What the file calls itself.
    package let id: String
    /// The verdict that the file expects, if it says one.
    package let expected: JSONValue?
    private let document: JSONValue
    private let schema: Schema

    private enum Schema {
        case appleAttestation, appleAssertion, androidKey, playIntegrity
    }

    /// Why a file is no vector.
    package enum ParseError: Error, Equatable {
        /// Not JSON.
        case notJSON(JSONError)
        /// Of a schema or kind that is not judged here.
        case unknownSchema(String)
        /// A field is missing or has another shape.
        case field(String)
        /// A trust root that is not there or no certificate.
        case trustRoot(String)
    }

    /// Vectors with forty certificates exist; 4 MiB is more than any has.
    private static let limits = JSONLimits(bytes: 4 << 20, depth: 32, values: 65_536)

    /// The vector of a JSON text.
    package init(parsing bytes: [UInt8]) throws(ParseError) {
        do {
            document = try JSONValue(parsing: bytes, limits: Self.limits)
        } catch {
            throw .notJSON(error)
        }
        id = document["id"]?.string ?? ""
        expected = document["expected"]
        switch (document["schema"]?.string ?? "", document["kind"]?.string ?? "") {
        case ("app-attest/1", "attestation"): schema = .appleAttestation
        case ("app-attest/1", "assertion"): schema = .appleAssertion
        case ("android-key/1", _): schema = .androidKey
        case ("play-integrity/1", _): schema = .playIntegrity
        case (let schema, let kind): throw .unknownSchema("\(schema) \(kind)")
        }
    }

    /// Judges the proof at the vector's own time, or at `now` if it names none.
    ///
    /// `rootText` gives the PEM of a trust root that the vector names by file.
    package func judged(at now: Moment, rootText: (String) -> String?) throws(ParseError) -> ProofJudgement {
        try judged(exactlyAt: try time() ?? now, rootText: rootText)
    }

    /// Judges the proof at `moment`, whatever the vector says.
    package func judged(
        exactlyAt moment: Moment,
        rootText: (String) -> String?
    ) throws(ParseError) -> ProofJudgement {
        switch schema {
        case .appleAttestation: return try appleAttestation(at: moment, rootText)
        case .appleAssertion: return try appleAssertion()
        case .androidKey: return try androidKey(at: moment, rootText)
        case .playIntegrity: return try playIntegrity(at: moment)
        }
    }

    /// How `judgement` differs from what the file expects or allows, or nil.
    package func difference(from judgement: ProofJudgement) -> String? {
        guard let expected else { return nil }
        var verdicts = (expected["verdict_any_of"]?.array ?? []).compactMap(\.string)
        if let accepted = expected["accepted"]?.bool { verdicts.append(accepted ? "accepted" : "refused") }
        if let verdict = expected["verdict"]?.string { verdicts.append(verdict) }
        guard verdicts.contains(judgement.verdict) else {
            return "expected \(verdicts.joined(separator: " or "))"
        }
        let reasons = [expected["reason"] ?? .null] + (expected["reason_any_of"]?.array ?? [])
        let reason = judgement.reason.map { JSONValue.string($0.rawValue) } ?? .null
        guard reasons.contains(reason) else {
            return "expected \(reasons.map { $0.string ?? "no reason" }.joined(separator: " or "))"
        }
        return nil
    }

    private func time() throws(ParseError) -> Moment? {
        guard let value = document["verify_at"] else { return nil }
        guard let text = value.string, let milliseconds = InternetTime.milliseconds(of: text) else {
            throw .field("verify_at")
        }
        return Moment(milliseconds: milliseconds)
    }

    private func appleAttestation(at now: Moment, _ rootText: (String) -> String?) throws(ParseError) -> ProofJudgement
    {
        let allowsDevelopment = document["policy"]?["allow_development"]?.bool ?? false
        let verifier = AppAttestationVerifier(
            anchors: try anchors(rootText),
            apps: try appleApps(),
            environments: allowsDevelopment ? [.production, .development] : [.production]
        )
        let verdict = verifier.verdict(
            on: try text("attestation"),
            keyID: try text("key_id"),
            clientDataHash: try bytes("client_data_hash"),
            at: now
        )
        return ProofJudgement(verdict)
    }

    private func appleAssertion() throws(ParseError) -> ProofJudgement {
        let key: AssertionKey
        do {
            key = try AssertionKey(point: try bytes("public_key"))
        } catch {
            throw .field("public_key")
        }
        guard let previous = document["input"]?["previous_counter"]?.integer, let counter = UInt32(exactly: previous)
        else {
            throw .field("previous_counter")
        }
        let verdict = AppAssertionVerifier(apps: try appleApps()).verdict(
            on: try text("assertion"),
            key: key,
            previousCounter: counter,
            clientDataHash: try bytes("client_data_hash")
        )
        return ProofJudgement(verdict)
    }

    private func androidKey(at now: Moment, _ rootText: (String) -> String?) throws(ParseError) -> ProofJudgement {
        guard let elements = document["input"]?["certificate_chain"]?.array,
            let challenges = document["expected_challenges"]?.array
        else { throw .field("certificate_chain") }
        var statusList = StatusList.empty
        if let revocation = document["revocation"] {
            do {
                statusList = try StatusList(revocation)
            } catch {
                throw .field("revocation")
            }
        }
        let verifier = KeyAttestationVerifier(
            anchors: TrustAnchors(apple: [], android: try anchors(rootText)),
            apps: try androidApps(),
            statusList: statusList
        )
        var expected: [[UInt8]] = []
        for challenge in challenges { expected.append(try Self.decoded(challenge.string, "expected_challenges")) }
        var chain: [String] = []
        for element in elements {
            guard let text = element.string else { throw .field("certificate_chain") }
            chain.append(text)
        }
        return ProofJudgement(verifier.verdict(onChain: chain, challenges: expected, at: now))
    }

    private func playIntegrity(at now: Moment) throws(ParseError) -> ProofJudgement {
        let keys: PlayIntegrityKeys
        do {
            keys = try PlayIntegrityKeys(
                decryptionKey: try text("decryption_key"),
                verificationKey: try text("verification_key")
            )
        } catch {
            throw .field("decryption_key, verification_key")
        }
        guard let nonce = document["expected_nonce"]?.string else { throw .field("expected_nonce") }
        let age = document["max_age_seconds"]?.integer ?? 300
        // A year is more than any honest vector says; the verifier counts in milliseconds.
        guard 0...31_536_000 ~= age else { throw .field("max_age_seconds") }
        let verifier = IntegrityVerifier(apps: try androidApps(), maximumAge: Int64(age))
        return ProofJudgement(verifier.verdict(on: try text("token"), keys: [keys], nonce: nonce, at: now))
    }

    private func anchors(_ rootText: (String) -> String?) throws(ParseError) -> [TrustAnchor] {
        var anchors: [TrustAnchor] = []
        for root in document["trust_roots"]?.array ?? [] {
            guard let name = root.string else { throw .field("trust_roots") }
            guard let pem = name.hasPrefix("-----BEGIN") ? name : rootText(name) else { throw .trustRoot(name) }
            do {
                anchors += try TrustAnchor.anchors(pem: pem)
            } catch {
                throw .trustRoot(name)
            }
        }
        return anchors
    }

    private func appleApps() throws(ParseError) -> [AppleApp] {
        var apps: [AppleApp] = []
        for app in document["registered_apps"]?.array ?? [] {
            guard let team = app["team_id"]?.string, let bundle = app["bundle_id"]?.string else {
                throw .field("registered_apps")
            }
            apps.append(AppleApp(teamID: team, bundleID: bundle))
        }
        return apps
    }

    private func androidApps() throws(ParseError) -> [AndroidApp] {
        var apps: [AndroidApp] = []
        for app in document["registered_apps"]?.array ?? [] {
            guard let package = app["package"]?.string, let signers = app["sha256"]?.array,
                let app = AndroidApp(package: package, fingerprints: signers.map { $0.string ?? "" })
            else { throw .field("registered_apps") }
            apps.append(app)
        }
        return apps
    }

    private func text(_ field: String) throws(ParseError) -> String {
        guard let text = document["input"]?[field]?.string else { throw .field(field) }
        return text
    }

    private func bytes(_ field: String) throws(ParseError) -> [UInt8] {
        try Self.decoded(document["input"]?[field]?.string, field)
    }

    private static func decoded(_ text: String?, _ field: String) throws(ParseError) -> [UInt8] {
        guard let text else { throw .field(field) }
        do {
            return try Base64.decode(text)
        } catch {
            throw .field(field)
        }
    }
}
