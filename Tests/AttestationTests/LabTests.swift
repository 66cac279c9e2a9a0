// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Crypto
import Encodings
import Testing

/// One lab for all tests: making keys is the slow part.
enum Lab {
    static let now = Moment(seconds: 1_790_000_000)
    static let app = AppleApp(teamID: "ABCDE12345", bundleID: "com.example.app")
    static let android = AndroidApp(package: "com.example.app", signers: [SHA256.hash(Array("signer".utf8))])
    static let binding = ProofBinding(challenge: "challenge", appID: "app_1", purpose: .signIn)

    static func authorities() throws -> LabAuthorities {
        try made.get()
    }

    private static let made = Result { try LabAuthorities.make(at: now) }
}

@Suite struct LabAuthoritiesTests {
    @Test func `a lab survives its files`() throws {
        let lab = try Lab.authorities()
        let files = try lab.files()
        let copy = try LabAuthorities { name in files.first { $0.name == name }?.text }
        #expect(copy.playKeyTexts.decryption == lab.playKeyTexts.decryption)
        #expect(try copy.files().map(\.text) == files.map(\.text))
        #expect(throws: LabError.file("apple-issuer.key")) {
            try LabAuthorities { name in name == "apple-issuer.key" ? nil : files.first { $0.name == name }?.text }
        }
    }

    @Test func `a lab's proof counts under the lab's roots only, and says whose it is`() throws {
        let lab = try Lab.authorities()
        let proof = try LabAppleProofs(lab, app: Lab.app).attestation(
            clientDataHash: Lab.binding.hash.bytes,
            environment: .production,
            at: Lab.now,
            fault: nil
        )
        let vendor = try TrustBundle.builtIn().anchors
        func verdict(_ anchors: TrustAnchors) -> AppAttestationVerdict {
            AppAttestationVerifier(anchors: anchors.apple, apps: [Lab.app], environments: [.production])
                .verdict(on: proof.object, keyID: proof.keyID, clientDataHash: Lab.binding.hash.bytes, at: Lab.now)
        }
        #expect(verdict(vendor).reason == .untrustedRoot)
        guard case .accepted(let key) = verdict(vendor.adding(lab: try lab.anchors())) else {
            Issue.record("the lab's own proof was refused")
            return
        }
        #expect(key.provenance == .lab)
    }
}

extension AppAttestationVerdict {
    /// The reason of a refusal.
    var reason: AttestationReason? {
        guard case .refused(let reason) = self else { return nil }
        return reason
    }
}

extension AppAssertionVerdict {
    /// The reason of a refusal.
    var reason: AttestationReason? {
        guard case .refused(let reason) = self else { return nil }
        return reason
    }
}

@Suite struct LabAppleProofsTests {
    static let attestations: [(LabAppleProofs.AttestationFault?, AttestationReason?)] = [
        (nil, nil), (.nonce, .nonceMismatch), (.keyID, .keyMismatch), (.counter, .malformed),
        (.app, .appNotRegistered), (.chain, .untrustedRoot), (.expired, .certificateExpired),
        (.environment, .malformed), (.truncated, .malformed),
    ]

    @Test(arguments: attestations)
    func `each fault of an attestation gets its reason`(
        fault: LabAppleProofs.AttestationFault?,
        reason: AttestationReason?
    ) throws {
        let lab = try Lab.authorities()
        let hash = Lab.binding.hash.bytes
        let proof = try LabAppleProofs(lab, app: Lab.app)
            .attestation(clientDataHash: hash, environment: .development, at: Lab.now, fault: fault)
        let verifier = AppAttestationVerifier(
            anchors: try lab.anchors().apple,
            apps: [Lab.app],
            environments: [.production, .development]
        )
        let verdict = verifier.verdict(on: proof.object, keyID: proof.keyID, clientDataHash: hash, at: Lab.now)
        #expect(verdict.reason == reason)
    }

    @Test func `every fault has a row`() {
        #expect(Set(Self.attestations.compactMap(\.0)) == Set(LabAppleProofs.AttestationFault.allCases))
        #expect(Set(Self.assertions.compactMap(\.0)) == Set(LabAppleProofs.AssertionFault.allCases))
    }

    static let assertions: [(LabAppleProofs.AssertionFault?, AttestationReason?)] = [
        (nil, nil), (.signature, .badSignature), (.app, .appNotRegistered), (.counter, .counterNotIncreasing),
        (.truncated, .malformed),
    ]

    @Test(arguments: assertions)
    func `each fault of an assertion gets its reason`(
        fault: LabAppleProofs.AssertionFault?,
        reason: AttestationReason?
    ) throws {
        let key = try PrivateKey.generate(.p256)
        let hash = Lab.binding.hash.bytes
        let assertion = try LabAppleProofs(try Lab.authorities(), app: Lab.app)
            .assertion(key: key, clientDataHash: hash, counter: 8, fault: fault)
        let verdict = AppAssertionVerifier(apps: [Lab.app]).verdict(
            on: assertion,
            key: try AssertionKey(point: try #require(key.publicKey.point)),
            previousCounter: 7,
            clientDataHash: hash
        )
        #expect(verdict.reason == reason)
    }
}

@Suite struct LabAndroidProofsTests {
    static let rows: [(LabAndroidProofs.State, KeyAttestationTrust, AttestationReason?)] = [
        (.hardware, .hardware, nil), (.strongbox, .hardware, nil), (.rootOmitted, .hardware, nil),
        (.software, .degraded, .softwareAttestation), (.unlocked, .degraded, .bootloaderUnlocked),
        (.selfSigned, .degraded, .bootNotVerified), (.unverified, .degraded, .bootNotVerified),
        (.noRootOfTrust, .degraded, .noRootOfTrust), (.expired, .degraded, .certificateExpired),
        (.otherRoot, .degraded, .untrustedRoot), (.noApplication, .refused, .noApplicationID),
        (.nonce, .refused, .nonceMismatch), (.brokenLink, .refused, .malformed), (.forgedLeaf, .refused, .malformed),
    ]

    @Test func `each state gets its trust and reason`() throws {
        #expect(Set(Self.rows.map(\.0)) == Set(LabAndroidProofs.State.allCases))
        let lab = try Lab.authorities()
        let proofs = try LabAndroidProofs(lab, app: Lab.android)
        let verifier = KeyAttestationVerifier(anchors: try lab.anchors(), apps: [Lab.android], statusList: .empty)
        for (state, trust, reason) in Self.rows {
            for challenge in Lab.binding.androidChallenges {
                let chain = try proofs.chain(challenge: challenge, state: state, at: Lab.now)
                let verdict = verifier.verdict(onChain: chain, challenges: Lab.binding.androidChallenges, at: Lab.now)
                #expect(verdict.trust == trust && verdict.reason == reason, "\(state): \(verdict.reasons)")
                #expect(verdict.trust != .hardware || verdict.provenance == .lab, "\(state)")
            }
        }
    }
}

@Suite struct LabPlayTokensTests {
    static let rows: [(LabPlayTokens.Verdict, IntegrityTrust, AttestationReason?)] = [
        (.pass, .pass, nil), (.basic, .degraded, .deviceNotTrusted), (.virtual, .fail, .deviceEmulator),
        (.none, .fail, .deviceNotTrusted), (.unrecognised, .fail, .appNotRecognised),
        (.unevaluated, .degraded, .appNotEvaluated), (.unlicensed, .fail, .appUnofficialInstall),
        (.testing, .fail, .testingResponse), (.expired, .fail, .tokenExpired), (.nonce, .fail, .nonceMismatch),
        (.otherKey, .fail, .decryptionFailed), (.otherSigner, .fail, .badSignature),
        (.otherPackage, .fail, .packageMismatch),
    ]

    @Test func `each verdict gets its trust and reason`() throws {
        #expect(Set(Self.rows.map(\.0)) == Set(LabPlayTokens.Verdict.allCases))
        let lab = try Lab.authorities()
        let texts = lab.playKeyTexts
        let keys = try PlayIntegrityKeys(
            decryptionKey: texts.decryption,
            verificationKey: texts.verification,
            provenance: .lab
        )
        let verifier = IntegrityVerifier(apps: [Lab.android])
        for (word, trust, reason) in Self.rows {
            let token = try LabPlayTokens(lab, app: Lab.android).token(nonce: "bm9uY2U", verdict: word, at: Lab.now)
            let verdict = verifier.verdict(on: token, keys: [keys], nonce: "bm9uY2U", at: Lab.now)
            #expect(verdict.trust == trust && verdict.reason == reason, "\(word): \(verdict)")
            let other = try PlayIntegrityKeys(
                decryptionKey: Base64.encode([UInt8](repeating: 1, count: 32)),
                verificationKey: texts.verification
            )
            // The vendor's keys come first; the lab's open what those could not.
            #expect(verifier.verdict(on: token, keys: [other, keys], nonce: "bm9uY2U", at: Lab.now).trust == trust)
        }
        #expect(verifier.verdict(on: "", keys: [], nonce: "", at: Lab.now) == .notConfigured)
    }
}

@Suite struct LabTrustTests {
    @Test func `lab trust is timed and never for production`() throws {
        let lab = try Lab.authorities().anchors()
        let vendor = try TrustBundle.builtIn().anchors
        let trust = LabTrust(anchors: lab, until: Lab.now.adding(seconds: 7_200))
        let last = Lab.now.adding(seconds: 7_199)
        #expect(trust.anchors(beside: vendor, at: last, isProduction: false).apple.count == vendor.apple.count + 1)
        #expect(trust.anchors(beside: vendor, at: trust.until, isProduction: false).apple.count == vendor.apple.count)
        #expect(trust.anchors(beside: vendor, at: last, isProduction: true).apple.count == vendor.apple.count)
    }
}

extension KeyAttestationVerdict {
    /// The deciding reason.
    var reason: AttestationReason? { reasons.first }
}
