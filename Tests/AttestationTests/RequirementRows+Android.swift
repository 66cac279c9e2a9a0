// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Crypto
import Encodings
import Testing

enum AndroidRows {
    private static let unavailable:
        @Sendable (String, UnavailableReport.Platform, Bool, Bool) -> UnavailableReport.Outcome = {
            word,
            platform,
            isOn,
            allows in
            UnavailableReport.outcome(
                of: word,
                platform: platform,
                isDevelopmentModeOn: isOn,
                allowsDegraded: allows,
                hasAndroidApp: true
            )
        }

    static let all: [RequirementRow] = [
        RequirementRow("OFF-040") { bench in
            let chain = try bench.chain()
            return bench.judge(chain).trust == .hardware && bench.judge(chain.reversed()).reason == .malformed
        },
        RequirementRow("OFF-041") { bench in
            let texts = SignInBench.binding(.signIn).androidChallenges
            let both = try texts.allSatisfy { bench.judge(try bench.chain(challenge: $0)).trust == .hardware }
            let other = SignInBench.binding(.register).hash.bytes
            return try both && bench.judge(try bench.chain(challenge: other)).reason == .nonceMismatch
        },
        RequirementRow("OFF-042") { bench in
            bench.androidApps = [AndroidApp(package: "com.example.other", signers: Lab.android.signers)]
            let package = bench.judge(try bench.chain()).reason
            bench.androidApps = [AndroidApp(package: "com.example.app", signers: [SHA256.hash([9])])]
            return try package == .packageMismatch
                && bench.judge(try bench.chain()).reason == .signingCertificateMismatch
        },
        RequirementRow("OFF-043") { bench in
            bench.androidApps = [
                AndroidApp(package: "com.example.app", signers: [SHA256.hash([9])]),
                AndroidApp(package: "com.example.other", signers: Lab.android.signers),
            ]
            return bench.judge(try bench.chain()).reason == .signingCertificateMismatch
        },
        RequirementRow("OFF-044") { bench in
            let signers = [SHA256.hash([1]), SHA256.hash([2]), SHA256.hash([3])]
            bench.androidApps = [AndroidApp(package: "com.example.app", signers: signers)]
            return try signers.allSatisfy { signer in
                let build = AndroidApp(package: "com.example.app", signers: [signer])
                return bench.judge(try bench.chain(app: build)).trust == .hardware
            }
        },
        RequirementRow("OFF-045") { bench in
            let unread = bench.judge(["AAAA"])
            let nameless = bench.judge(try bench.chain(.noApplication))
            return unread.trust == .refused && unread.reason == .malformed && nameless.trust == .refused
                && nameless.reason == .noApplicationID
        },
        RequirementRow("OFF-046") { bench in
            // Refusals and degradations are different outcomes: a policy on the one never sees the other.
            let states: [LabAndroidProofs.State] = [.nonce, .noApplication, .brokenLink, .forgedLeaf]
            let refused = try states.allSatisfy { bench.judge(try bench.chain($0)).trust == .refused }
            bench.androidApps = []
            return try refused && bench.judge(try bench.chain(.unlocked)).trust == .refused
        },
        RequirementRow("OFF-047") { bench in
            let states: [LabAndroidProofs.State] = [
                .software, .unlocked, .unverified, .selfSigned, .otherRoot, .expired, .noRootOfTrust,
            ]
            return try states.allSatisfy { bench.judge(try bench.chain($0)).trust == .degraded }
        },
        RequirementRow("OFF-048") { bench in
            let reasons = try LabAndroidProofsTests.rows.allSatisfy { state, _, reason in
                bench.judge(try bench.chain(state)).reason == reason
            }
            return reasons
                && unavailable("keystore_error", .android, false, true) == .degraded(.deviceCannotAttest)
        },
        RequirementRow("OFF-049") { bench in
            // Unlocked and unverified, from another root: the root decides, the rest is listed.
            let revoked = try StatusList(parsing: Array(#"{"entries":{"1":{"status":"REVOKED"}}}"#.utf8))
            let verdict = bench.judge(try bench.chain(.unlocked), statusList: revoked)
            return bench.judge(try bench.chain(.unlocked)).reasons == [.bootloaderUnlocked, .bootNotVerified]
                && verdict.reasons == [.revokedCertificate, .bootloaderUnlocked, .bootNotVerified]
        },
        RequirementRow("OFF-050") { bench in
            let spent = ProofBinding(challenge: "spent", appID: "app_1", purpose: .signIn).hash.bytes
            return bench.judge(try bench.chain(.unlocked, challenge: spent)).trust == .refused
        },
        RequirementRow("OFF-051") { bench in
            let chain = try bench.chain()
            let swapped = [chain[0], try bench.chain()[1], chain[2], chain[3]]
            return try bench.judge(swapped).reason == .malformed
                && bench.judge(try bench.chain(.brokenLink)).reason == .malformed
        },
        RequirementRow("OFF-052") { bench in
            let vector = try Vectors.vector("android-key", "mut-root-other-copy-appended")
            return try vector.judged(at: Lab.now, rootText: Vectors.rootText).verdict == "hardware"
        },
        RequirementRow("OFF-053") { bench in
            let vector = try Vectors.vector("android-key", "real-gms-passkey-v3-2016-root-expired")
            return try vector.judged(at: Lab.now, rootText: Vectors.rootText).verdict == "hardware"
        },
        RequirementRow("OFF-054") { bench in
            let vector = try Vectors.vector("android-key", "syn-batch-ca-false")
            return try vector.judged(at: Lab.now, rootText: Vectors.rootText).verdict == "hardware"
        },
        RequirementRow("OFF-055") { bench in
            let leaf = try Vectors.vector("android-key", "syn-leaf-dates-nonsense")
            let expired = bench.judge(try bench.chain(.expired))
            return try leaf.judged(at: Lab.now, rootText: Vectors.rootText).verdict == "hardware"
                && expired.trust == .degraded && expired.reason == .certificateExpired
        },
        RequirementRow("OFF-056") { bench in
            let chain = try bench.chain()
            return try (0..<chain.count).allSatisfy { place in
                let serial = try Certificate(der: try Base64.decode(chain[place])).serialText
                for word in ["REVOKED", "SUSPENDED"] {
                    let text = #"{"entries":{"\#(serial)":{"status":"\#(word)"}}}"#
                    let list = try StatusList(parsing: Array(text.utf8))
                    guard bench.judge(chain, statusList: list).reason == .revokedCertificate else { return false }
                }
                return true
            }
        },
        RequirementRow("OFF-057") { bench in
            // The anchors are in the program: no setting of Google's is read.
            try TrustBundle.builtIn().anchors.android.count == 5
        },
        RequirementRow("OFF-058") { bench in
            let other = try Vectors.vector("android-key", "syn-no-application-id")
            return try other.judged(at: Lab.now, rootText: Vectors.rootText).reason == .noApplicationID
                && bench.judge(try bench.chain()).description?.application?.packages == ["com.example.app"]
        },
        RequirementRow("OFF-059") { bench in
            bench.judge(try bench.chain(.forgedLeaf)).reason == .malformed
        },
        RequirementRow("OFF-060") { bench in
            let plain = Hex.encode(Lab.android.signers[0].bytes)
            let pairs = stride(from: 0, to: 64, by: 2).map { start in
                String(plain.dropFirst(start).prefix(2)).uppercased()
            }
            let colons = pairs.joined(separator: ":")
            return AndroidApp(package: "p", fingerprints: [plain]) == AndroidApp(package: "p", fingerprints: [colons])
                && AndroidApp(package: "p", fingerprints: [String(plain.dropLast(2))]) == nil
                && AndroidApp(package: "p", fingerprints: [plain + "00"]) == nil
        },
        RequirementRow("OFF-061") { _ in
            unavailable("emulator", .android, false, true) == .developmentModeRequired
                && unavailable("emulator", .android, true, true) == .development
        },
        RequirementRow("OFF-062") { _ in
            // A report needs no challenge: none is asked for.
            unavailable("emulator", .android, true, false) == .development
        },
        RequirementRow("OFF-063") { _ in
            Set(UnavailableReport.allCases.map(\.rawValue))
                == ["simulator", "emulator", "expo_go", "unsupported", "keystore_error"]
                && unavailable("other", .android, true, true) == .attestationRequired
                && unavailable("", .ios, true, true) == .attestationRequired
        },
        RequirementRow("OFF-064") { _ in
            let on =
                [
                    ("simulator", .ios), ("emulator", .android), ("expo_go", .ios), ("expo_go", .android),
                    ("unsupported", .android), ("keystore_error", .android),
                ] as [(String, UnavailableReport.Platform)]
            let accepted = on.allSatisfy { unavailable($0.0, $0.1, true, false) == .development }
            let refused = on.prefix(4).allSatisfy { unavailable($0.0, $0.1, false, true) == .developmentModeRequired }
            let degraded = on.suffix(2).allSatisfy {
                unavailable($0.0, $0.1, false, true) == .degraded(.deviceCannotAttest)
                    && unavailable($0.0, $0.1, false, false) == .attestationFailed(.deviceCannotAttest)
            }
            return accepted && refused && degraded
        },
        RequirementRow("OFF-065") { _ in
            ["unsupported", "keystore_error", "emulator"].allSatisfy { word in
                unavailable(word, .ios, false, true) == .attestationRequired
                    && unavailable(word, .ios, true, true) == .attestationRequired
            }
        },
    ]
}

enum PlayRows {
    static let all: [RequirementRow] = [
        RequirementRow("VCH-014") { _ in
            let key = try PrivateKey.generate(.rsa(bits: 2048))
            var writer = JSONWriter()
            writer.beginObject()
            writer.member("type", "service_account")
            writer.member("client_email", "a@b.iam.gserviceaccount.com")
            writer.member("private_key_id", "k1")
            writer.member("private_key", try key.pem())
            writer.member("token_uri", "https://oauth2.example.com/token")
            writer.endObject()
            let account = try ServiceAccount(parsing: writer.bytes)
            let form = try account.tokenRequest(at: Lab.now)
            let parts = try #require(form.split(separator: "=").last).split(separator: ".").map { String($0) }
            let message = Array("\(parts[0]).\(parts[1])".utf8)
            let signature = try Base64.decode(parts[2], alphabet: .urlSafe, padding: .forbidden)
            return ServiceAccount.isContents(" \n{}") && !ServiceAccount.isContents("/etc/account.json")
                && key.publicKey.verifies(signature.span, of: message.span, .rsaPKCS1(.sha256))
        },
        RequirementRow("VCH-015") { _ in
            let verdict = IntegrityVerifier(apps: [Lab.android]).verdict(on: "x", keys: [], nonce: "", at: Lab.now)
            return verdict.trust == .degraded && verdict.reason == .verifierNotConfigured
        },
        RequirementRow("VCH-016") { _ in
            IntegrityVerdict.unavailable.trust == .degraded
                && IntegrityVerdict.unavailable.reason?.vouchOutcome.word == "platform_unavailable"
        },
        RequirementRow("VCH-017") { bench in
            let failing: [LabPlayTokens.Verdict] = [.unrecognised, .unlicensed, .none, .virtual, .nonce]
            let failed = try failing.allSatisfy { word in
                let verdict = try bench.judge(token: try bench.token(word))
                return verdict.trust == .fail && verdict.reason?.vouchOutcome.trust == .fail
            }
            let passed = try bench.judge(token: try bench.token(.pass))
            let unrecognised = try bench.judge(token: try bench.token(.unrecognised))
            return failed && passed.trust == .pass && passed.reasons.isEmpty
                && unrecognised.reason?.vouchOutcome.word == "app_not_recognised"
        },
        RequirementRow("VCH-018") { bench in
            let both = SignInBench.payload(
                #""PLAY_RECOGNIZED""#,
                #"["MEETS_VIRTUAL_INTEGRITY"]"#,
                #""UNLICENSED""#
            )
            let verdict = try bench.judge(payload: both)
            let mixed = try bench.judge(payload: SignInBench.payload(#""UNEVALUATED""#, "[]"))
            return verdict.trust == .fail && Set(verdict.reasons) == [.deviceEmulator, .appUnofficialInstall]
                && mixed.trust == .fail && mixed.reasons == [.deviceNotTrusted, .appNotEvaluated]
        },
        RequirementRow("APP-028") { bench in
            let texts = bench.lab.playKeyTexts
            #expect(throws: PlayIntegrityKeys.ParseError.verificationKey) {
                try PlayIntegrityKeys(decryptionKey: texts.decryption, verificationKey: "")
            }
            #expect(throws: PlayIntegrityKeys.ParseError.decryptionKey) {
                try PlayIntegrityKeys(decryptionKey: "", verificationKey: texts.verification)
            }
            return try bench.judge(token: try bench.token(.pass)).trust == .pass
                && AttestationReason.verifierNotConfigured.appEngineWord(on: .android) == "android_not_configured"
        },
        RequirementRow("APP-029") { bench in
            let texts = bench.lab.playKeyTexts
            let keys = try PlayIntegrityKeys(decryptionKey: texts.decryption, verificationKey: texts.verification)
            var shown = ""
            dump(keys, to: &shown)
            return !shown.contains(texts.decryption) && !"\(keys)".contains(texts.decryption)
        },
        RequirementRow("APP-030") { bench in
            let standard = SignInBench.payload().replacing(#""nonce":"bm9uY2U""#, with: #""requestHash":"bm9uY2U""#)
            return try bench.judge(payload: standard).reason == .nonceMismatch
        },
        RequirementRow("APP-031") { bench in
            let forms = [("++__", false), ("bm9uY2U=", true), ("bm9uY2U", true), ("bm9uY2V", false)]
            return try forms.allSatisfy { text, isSame in
                let payload = SignInBench.payload().replacing(#""nonce":"bm9uY2U""#, with: #""nonce":"\#(text)""#)
                return (try bench.judge(payload: payload).trust == .pass) == isSame
            }
        },
        RequirementRow("APP-032") { bench in
            let stamp = "\(Lab.now.milliseconds)"
            let ages: [(Int64, AttestationReason?)] = [
                (299, nil), (300, nil), (301, .tokenExpired), (-60, nil), (-61, .tokenExpired),
            ]
            return try ages.allSatisfy { age, reason in
                let issued = "\(Lab.now.milliseconds - age * 1_000)"
                return try bench.judge(payload: SignInBench.payload().replacing(stamp, with: issued)).reason == reason
            }
                && AttestationReason.tokenExpired.appEngineWord(on: .android) == "token_too_old"
        },
        RequirementRow("APP-033") { bench in
            let verdict = try bench.judge(token: try bench.token(.otherPackage))
            return verdict.reason == .packageMismatch
                && verdict.reason?.appEngineWord(on: .android) == "package_mismatch"
        },
        RequirementRow("APP-034") { bench in
            let sideloaded = try bench.judge(token: try bench.token(.unrecognised)).reason
            let emulator = try bench.judge(token: try bench.token(.none)).reason
            return sideloaded?.appEngineWord(on: .android) == "app_not_recognized"
                && emulator?.appEngineWord(on: .android) == "device_integrity"
        },
        RequirementRow("APP-035") { bench in
            let names = ["jws-alg-none", "jws-hs256-confusion", "jwe-alg-dir", "jwe-wrong-enc", "jws-es384-name"]
            return try names.allSatisfy { name in
                let judgement = try Vectors.vector("play-integrity", name).judged(at: Lab.now) { _ in nil }
                return judgement.verdict == "fail" && judgement.reason?.appEngineWord(on: .android) == "bad_signature"
            }
        },
        RequirementRow("APP-036") { bench in
            bench.androidApps = [AndroidApp(package: "com.example.app", signers: [SHA256.hash([9])])]
            let other = try bench.judge(token: try bench.token(.pass)).reason
            bench.androidApps = [AndroidApp(package: "com.example.app", signers: [])]
            let unset = try bench.judge(token: try bench.token(.pass))
            return other?.appEngineWord(on: .android) == "certificate_mismatch" && unset.trust == .pass
        },
        RequirementRow("APP-037") { bench in
            for _ in 0..<10 { _ = try bench.judge(token: try bench.token(.pass)) }
            return bench.writes == 0 && bench.keys.isEmpty
        },
    ]
}
