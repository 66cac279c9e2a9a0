// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Crypto
import Encodings
import Testing

/// One row of the requirements: its id, and its example as a check.
struct RequirementRow: Sendable, CustomTestStringConvertible {
    let id: String
    let check: @Sendable (inout SignInBench) throws -> Bool

    init(_ id: String, _ check: @escaping @Sendable (inout SignInBench) throws -> Bool) {
        self.id = id
        self.check = check
    }

    var testDescription: String { id }
}

/// Every row of the sections on App Attest, Android key attestation and Play Integrity.
@Suite struct RequirementRowsTests {
    @Test(arguments: AppAttestRows.all + AndroidRows.all + PlayRows.all)
    func `the row's example holds`(row: RequirementRow) throws {
        var bench = try SignInBench()
        #expect(try row.check(&bench), "\(row.id)")
    }

    @Test func `no row is missing`() {
        let written = (AppAttestRows.all + AndroidRows.all + PlayRows.all).map(\.id)
        func ids(_ prefix: String, _ range: ClosedRange<Int>) -> [String] {
            range.map { number in
                let digits = String(number)
                return "\(prefix)-\(String(repeating: "0", count: 3 - digits.utf8.count))\(digits)"
            }
        }
        let expected = ids("OFF", 26...65) + ids("VCH", 11...18) + ids("APP", 18...37) + ids("SAL", 4...6)
        #expect(Set(written) == Set(expected) && written.count == expected.count)
    }
}

enum AppAttestRows {
    static let all: [RequirementRow] = [
        RequirementRow("OFF-026") { bench in
            try bench.register(try bench.install()) == nil && bench.keys["app_1"]?.count == 1
        },
        RequirementRow("OFF-027") { bench in
            let install = try bench.install()
            try bench.register(install)
            return try bench.signIn(try bench.assertion(install, counter: 1), keyID: install.keyID) == nil
        },
        RequirementRow("OFF-028") { bench in
            bench.apps = [AppleApp(teamID: "ABCDE12345", bundleID: "com.example.other")]
            return try bench.register(try bench.install()) == .appNotRegistered
                && bench.register(try bench.install(fault: .chain)) == .untrustedRoot
        },
        RequirementRow("OFF-029") { bench in
            // A client that hashes the binding twice is refused.
            let hash = SHA256.hash(SignInBench.binding(.register).hash.bytes).bytes
            let proof = try LabAppleProofs(bench.lab, app: Lab.app)
                .attestation(clientDataHash: hash, environment: .production, at: Lab.now, fault: nil)
            return try bench.register(proof) == .nonceMismatch
        },
        RequirementRow("OFF-030") { bench in
            let install = try bench.install()
            try bench.register(install)
            let reasons = try [1, 2, 2].map { counter in
                try bench.signIn(try bench.assertion(install, counter: counter), keyID: install.keyID)
            }
            return reasons == [nil, nil, .counterNotIncreasing]
        },
        RequirementRow("OFF-031") { bench in
            let install = try bench.install()
            let reason = try bench.signIn(try bench.assertion(install, counter: 1), keyID: install.keyID)
            return reason == .unknownKey && reason?.offlineWord(on: .ios) == "attestation_key_unknown"
        },
        RequirementRow("OFF-032") { bench in
            bench.apps = [AppleApp(teamID: "ABCDE12345", bundleID: "com.Example.app")]
            return try bench.register(try bench.install()) == .appNotRegistered
        },
        RequirementRow("OFF-033") { bench in
            // A prefix registered in the team's place is a pair like any other; a team is no part of another.
            let prefixed = AppleApp(teamID: "ZZZZZ99999", bundleID: "com.example.app")
            bench.apps = [prefixed]
            return try bench.register(try bench.install(app: prefixed)) == nil
                && bench.register(try bench.install()) == .appNotRegistered
        },
        RequirementRow("OFF-034") { bench in
            let staging = AppleApp(teamID: "ABCDE12345", bundleID: "com.example.app.staging")
            bench.apps = [Lab.app, staging]
            return try bench.register(try bench.install()) == nil
                && bench.register(try bench.install(app: staging)) == nil
        },
        RequirementRow("OFF-035") { bench in
            let refused = try bench.register(try bench.install(.development))
            bench.environments = [.production, .development]
            return try refused == .developmentNotAllowed && bench.register(try bench.install(.development)) == nil
        },
        RequirementRow("OFF-036") { bench in
            bench.environments = [.production, .development]
            let install = try bench.install(.development)
            try bench.register(install)
            bench.environments = [.production]
            let switched = try bench.signIn(try bench.assertion(install, counter: 1), keyID: install.keyID)
            bench.environments = [.production, .development]
            bench.apps = [AppleApp(teamID: "ABCDE12345", bundleID: "com.example.other")]
            let removed = try bench.signIn(try bench.assertion(install, counter: 1), keyID: install.keyID)
            return switched == .developmentNotAllowed && removed == .appNotRegistered
        },
        RequirementRow("OFF-037") { bench in
            try bench.register(try bench.install(.production))
            return bench.keys["app_1"]?.values.first?.environment == .production
        },
        RequirementRow("OFF-038") { bench in
            let install = try bench.install()
            try bench.register(install)
            let flipped = try bench.assertion(install, counter: 1, fault: .signature)
            let reason = try bench.signIn(flipped, keyID: install.keyID)
            return reason?.offlineWord(on: .ios) == "nonce_mismatch"
                && AttestationReason.counterNotIncreasing.offlineWord(on: .ios) == "counter_not_increasing"
        },
        RequirementRow("OFF-039") { bench in
            let install = try bench.install()
            try bench.register(install)
            return try bench.signIn("@@", keyID: install.keyID) == .malformed
                && bench.signIn("oA", keyID: install.keyID) == .malformed
        },
        RequirementRow("VCH-011") { bench in
            // The pinned root is in the program; nothing is asked of anyone.
            let pinned = try TrustBundle.builtIn().anchors
            let vector = try Vectors.vector("app-attest", "real-att-prod-ios14.0")
            let judgement = try vector.judged(at: Lab.now) { BuiltInTrust.text(ofFile: $0) }
            return pinned.apple.count == 1 && judgement.verdict == "accepted"
        },
        RequirementRow("VCH-012") { bench in
            bench.environments = try #require(AppAttestEnvironmentSetting.environments("production"))
            let refused = try bench.register(try bench.install(.development))
            bench.environments = try #require(AppAttestEnvironmentSetting.environments("development"))
            let other = try bench.register(try bench.install(.production))
            return refused?.vouchOutcome.word == "app_not_recognised" && refused?.vouchOutcome.trust == .fail
                && other?.vouchOutcome.word == "app_not_recognised"
                && AppAttestEnvironmentSetting.environments("Production") == nil
        },
        RequirementRow("VCH-013") { bench in
            let install = try bench.install()
            try bench.register(install)
            let assertion = try bench.assertion(install, counter: 1)
            let first = try bench.signIn(assertion, keyID: install.keyID)
            let outcome = try bench.signIn(assertion, keyID: install.keyID)?.vouchOutcome
            return first == nil && outcome?.word == "assertion_counter_replay" && outcome?.trust == .fail
        },
        RequirementRow("APP-018") { bench in
            let nonce = "q7Vb3Zk1nXw0n5gYc2qJ8r9tLh4mPz6aEoU1sD3fGh0"
            let right = ProofBinding(nonce: nonce).hash.bytes
            let decoded = SHA256.hash(try Base64.decode(nonce, alphabet: .urlSafe, padding: .forbidden)).bytes
            let proofs = LabAppleProofs(bench.lab, app: Lab.app)
            let verifier = AppAttestationVerifier(
                anchors: bench.anchors.apple,
                apps: [Lab.app],
                environments: [.production]
            )
            func reason(_ hash: [UInt8]) throws -> AttestationReason? {
                let proof = try proofs.attestation(
                    clientDataHash: hash,
                    environment: .production,
                    at: Lab.now,
                    fault: nil
                )
                return verifier.verdict(on: proof.object, keyID: proof.keyID, clientDataHash: right, at: Lab.now).reason
            }
            return try reason(right) == nil && reason(decoded) == .nonceMismatch
        },
        RequirementRow("APP-019") { bench in
            let install = try bench.install()
            try bench.register(install)
            let twice = Base64.encode(Array(install.keyID.utf8))
            return try bench.signIn(try bench.assertion(install, counter: 1), keyID: twice) == .unknownKey
        },
        RequirementRow("APP-020") { bench in
            let install = try bench.install()
            let url = LabAppleProofs.Attestation.urlSafe(install)
            try bench.register(url)
            let assertion = try bench.assertion(install, counter: 1)
            let urlAssertion = Base64.encodeURL(try Base64.decode(assertion))
            return try bench.keys["app_1"]?.count == 1 && bench.signIn(urlAssertion, keyID: install.keyID) == nil
                && bench.signIn(try bench.assertion(install, counter: 2), keyID: install.keyID) == nil
        },
        RequirementRow("APP-021") { bench in
            let install = try bench.install()
            try bench.register(install)
            return try (1...3).allSatisfy { counter in
                try bench.signIn(try bench.assertion(install, counter: counter), keyID: install.keyID) == nil
            }
        },
        RequirementRow("APP-022") { bench in
            let install = try bench.install()
            try bench.register(install)
            let first = try bench.signIn(try bench.assertion(install, counter: 5), keyID: install.keyID)
            let second = try bench.signIn(try bench.assertion(install, counter: 5), keyID: install.keyID)
            return first == nil && second?.appEngineWord(on: .ios) == "counter_not_increasing"
        },
        RequirementRow("APP-023") { bench in
            let install = try bench.install()
            let unknown = try bench.signIn(try bench.assertion(install, counter: 1), keyID: install.keyID)
            try bench.register(install)
            let bad = try bench.signIn(
                try bench.assertion(install, counter: 1, fault: .signature),
                keyID: install.keyID
            )
            return unknown?.appEngineWord(on: .ios) == "unknown_key" && bad?.appEngineWord(on: .ios) == "bad_signature"
        },
        RequirementRow("APP-024") { bench in
            bench.environments = [.production, .development]
            return try bench.register(try bench.install(.development)) == nil
                && bench.register(try bench.install(.production)) == nil
                && Set(bench.keys["app_1"]?.values.map(\.environment) ?? []) == [.production, .development]
        },
        RequirementRow("APP-025") { bench in
            let install = try bench.install()
            try bench.register(install)
            let before = try bench.signIn(try bench.assertion(install, counter: 7), keyID: install.keyID)
            try bench.register(install)
            return before == nil && bench.keys["app_1"]?.count == 1 && bench.keys["app_1"]?.values.first?.counter == 7
        },
        RequirementRow("APP-026") { bench in
            let install = try bench.install()
            try bench.register(install)
            try bench.block(install.keyID)
            let reason = try bench.signIn(try bench.assertion(install, counter: 1), keyID: install.keyID)
            try bench.register(install)
            let after = try bench.signIn(try bench.assertion(install, counter: 1), keyID: install.keyID)
            return reason?.appEngineWord(on: .ios) == "device_blocked" && after == .deviceBlocked
        },
        RequirementRow("APP-027") { bench in
            bench.apps = []
            return try bench.register(try bench.install()) == .appNotRegistered
                && AttestationReason.notConfigured.appEngineWord(on: .ios) == "ios_not_configured"
        },
        RequirementRow("SAL-004") { bench in
            try LabAppleProofsTests.attestations.allSatisfy { fault, reason in
                try bench.register(try bench.install(fault: fault)) == reason
            }
        },
        RequirementRow("SAL-005") { bench in
            let install = try bench.install()
            try bench.register(install)
            let faults = try LabAppleProofsTests.assertions.dropFirst().allSatisfy { fault, reason in
                let assertion = try bench.assertion(install, counter: 1, fault: fault)
                return try bench.signIn(assertion, keyID: install.keyID) == reason
            }
            // Two assertions with one counter: whichever the store sees first.
            let pair = [try bench.assertion(install, counter: 2), try bench.assertion(install, counter: 2)]
            let reasons = try pair.map { try bench.signIn($0, keyID: install.keyID) }
            return faults && reasons == [nil, .counterNotIncreasing]
        },
        RequirementRow("SAL-006") { bench in
            let files = try bench.lab.files()
            let root = try #require(files.first { $0.name == "apple-root.pem" }?.text)
            let print = Hex.encode(SHA256.hash(try PEM.blocks(in: root)[0].bytes).bytes)
            let manifest =
                #"{"format":1,"version":"test","roots":[{"file":"r.pem","for":"apple","sha256":"\#(print)"}]}"#
            let bundle = try TrustBundle(manifest: Array(manifest.utf8)) { _ in Array(root.utf8) }
            return try TrustReport(bundle, at: Lab.now).json.contains(#""test_roots":true"#)
                && TrustReport(try .builtIn(), at: Lab.now).json.contains(#""test_roots":false"#)
        },
    ]
}

extension LabAppleProofs.Attestation {
    /// The same proof in the other alphabet.
    fileprivate static func urlSafe(_ proof: LabAppleProofs.Attestation) -> LabAppleProofs.Attestation {
        func changed(_ text: String) -> String {
            String(text.filter { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
        }
        return LabAppleProofs.Attestation(keyID: changed(proof.keyID), object: changed(proof.object), key: proof.key)
    }
}
