// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import COpenSSL
import Crypto
import Encodings
import Glibc

/// CPU per proof beside the bare signature checks and decryptions that it cannot do without, in one run.
@main
enum ProofsBenchmark {
    static func main() throws {
        let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 15
        let rows = [
            try assertion(rounds),
            try androidChain(rounds),
            try playToken(rounds),
            try appleAttestation(rounds),
        ]
        print("| proof | ours, us | bare crypto, us | ratio | allowed | target |")
        print("|-|-|-|-|-|-|")
        var isWithin = true
        for row in rows {
            print(
                "| \(row.name) | \(tenths(row.ours)) | \(tenths(row.bare)) | \(hundredths(row.ratio)) | \(row.allowed) | \(row.target) |"
            )
            if let limit = Double(row.allowed), row.ratio > limit { isWithin = false }
        }
        if !isWithin { exit(1) }
    }

    struct Row {
        let name: String
        let ours: Double
        let bare: Double
        let ratio: Double
        let allowed: String
        let target: String
    }

    /// The medians of alternating batches; a ratio is taken within each pair, so that drift touches both alike.
    static func compare(
        _ name: String,
        rounds: Int,
        batch: Int,
        allowed: String,
        target: String,
        ours: () -> Bool,
        bare: () -> Bool
    ) -> Row {
        var times: [(Double, Double)] = []
        for _ in 0...rounds {
            times.append((microseconds(batch, ours), microseconds(batch, bare)))
        }
        times.removeFirst()
        return Row(
            name: name,
            ours: median(times.map(\.0)),
            bare: median(times.map(\.1)),
            ratio: median(times.map { $0.0 / $0.1 }),
            allowed: allowed,
            target: target
        )
    }

    static func microseconds(_ count: Int, _ body: () -> Bool) -> Double {
        let start = cpuNanoseconds()
        for _ in 0..<count {
            precondition(body(), "a proof or signature of the benchmark did not verify")
        }
        return Double(cpuNanoseconds() - start) / Double(count) / 1_000
    }

    static func cpuNanoseconds() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    static func median(_ values: [Double]) -> Double {
        values.sorted()[values.count / 2]
    }

    static func tenths(_ value: Double) -> String {
        "\((value * 10).rounded() / 10)"
    }

    static func hundredths(_ value: Double) -> String {
        "\((value * 100).rounded() / 100)"
    }
}

/// What the benchmark judges: fresh proofs of a lab.
extension ProofsBenchmark {
    static let now = Moment(seconds: 1_790_000_000)
    static let app = AppleApp(teamID: "ABCDE12345", bundleID: "com.example.app")
    static let android = AndroidApp(package: "com.example.app", signers: [SHA256.hash(Array("signer".utf8))])
    static let binding = ProofBinding(challenge: "challenge", appID: "app_1", purpose: .signIn)

    static func assertion(_ rounds: Int) throws -> Row {
        let lab = try LabAuthorities.make(at: now)
        let key = try PrivateKey.generate(.p256)
        let hash = binding.hash.bytes
        let text = try LabAppleProofs(lab, app: app).assertion(key: key, clientDataHash: hash, counter: 8, fault: nil)
        let point = key.publicKey.point ?? []
        let verifier = AppAssertionVerifier(apps: [app])
        let map = try CBORReader.value(of: try Base64.decode(text))
        let signature = map["signature"]?.bytes ?? []
        let message = SHA256.hash((map["authenticatorData"]?.bytes ?? []) + hash).bytes
        let bare = BareKey(spki: key.publicKey.spki)
        return compare(
            "App Attest assertion, key loaded from its point",
            rounds: rounds,
            batch: 500,
            allowed: "2.0",
            target: "1.3"
        ) {
            guard let key = try? AssertionKey(point: point) else { return false }
            let verdict = verifier.verdict(on: text, key: key, previousCounter: 7, clientDataHash: hash)
            guard case .accepted = verdict else { return false }
            return true
        } bare: {
            bare.verifies(signature, message, sha256Method)
        }
    }

    static func androidChain(_ rounds: Int) throws -> Row {
        let source = try FiveCertificates()
        let verifier = KeyAttestationVerifier(anchors: source.anchors, apps: [source.app], statusList: .empty)
        let links = source.links
        return compare("Android chain of five certificates", rounds: rounds, batch: 60, allowed: "1.5", target: "1.2") {
            let verdict = verifier.verdict(onChain: source.chain, challenges: source.challenges, at: source.moment)
            return verdict.trust == .hardware
        } bare: {
            links.allSatisfy { $0.key.verifies($0.signature, $0.message, $0.method) }
        }
    }

    static func playToken(_ rounds: Int) throws -> Row {
        let lab = try LabAuthorities.make(at: now)
        let texts = lab.playKeyTexts
        let keys = try PlayIntegrityKeys(decryptionKey: texts.decryption, verificationKey: texts.verification)
        let nonce = "q7Vb3Zk1nXw0n5gYc2qJ8r9tLh4mPz6aEoU1sD3fGh0"
        let token = try LabPlayTokens(lab, app: android).token(nonce: nonce, verdict: .pass, at: now)
        let verifier = IntegrityVerifier(apps: [android])
        let parts = try BareToken(token, decryptionKey: texts.decryption)
        let bare = BareKey(spki: try Base64.decode(texts.verification))
        return compare("Play Integrity token", rounds: rounds, batch: 500, allowed: "2.0", target: "1.4") {
            verifier.verdict(on: token, keys: [keys], nonce: nonce, at: now).trust == .pass
        } bare: {
            parts.opens() && bare.verifies(parts.signature, parts.message, sha256Method)
        }
    }

    static func appleAttestation(_ rounds: Int) throws -> Row {
        let lab = try LabAuthorities.make(at: now)
        let hash = binding.hash.bytes
        let proof = try LabAppleProofs(lab, app: app)
            .attestation(clientDataHash: hash, environment: .production, at: now, fault: nil)
        let verifier = AppAttestationVerifier(
            anchors: try lab.anchors().apple,
            apps: [app],
            environments: [.production]
        )
        let object = try CBORReader.value(of: try Base64.decode(proof.object))
        let leaf = object["attStmt"]?["x5c"]?.array?[0].bytes ?? []
        let files = try lab.files()
        func certificate(_ name: String) throws -> [UInt8] {
            try PEM.blocks(in: files.first { $0.name == name }?.text ?? "")[0].bytes
        }
        let issuer = try certificate("apple-issuer.pem")
        let links = [try Link(issuer, signedBy: try certificate("apple-root.pem")), try Link(leaf, signedBy: issuer)]
        return compare("App Attest attestation", rounds: rounds, batch: 60, allowed: "-", target: "-") {
            let verdict = verifier.verdict(on: proof.object, keyID: proof.keyID, clientDataHash: hash, at: now)
            guard case .accepted = verdict else { return false }
            return true
        } bare: {
            links.allSatisfy { $0.key.verifies($0.signature, $0.message, $0.method) }
        }
    }
}
