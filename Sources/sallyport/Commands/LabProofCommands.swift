// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Crypto
import Encodings
import Gateway

/// The verbs that make proofs: each prints the fields that a client would send.
enum LabProofCommands {
    @Sendable static func attest(_ invocation: Invocation) throws(CommandFailure) {
        let directory = LabDirectory(path: invocation["--lab"] ?? "")
        let app = iOSApp(invocation)
        let hash = try binding(invocation, .register).hash.bytes
        let environment = try choice(invocation, "--environment", AppAttestEnvironment.init(rawValue:)) ?? .development
        let fault = try choice(invocation, "--fault", LabAppleProofs.AttestationFault.init(rawValue:))
        do {
            let lab = try directory.authorities()
            let proof = try LabAppleProofs(lab, app: app)
                .attestation(clientDataHash: hash, environment: environment, at: .now(), fault: fault)
            try directory.keep(proof.key, keyID: proof.keyID)
            if invocation.has("--vector") {
                return show(LabVectors(lab, at: .now()).attestation(proof, app: app, clientDataHash: hash))
            }
            show([("keyId", .string(proof.keyID)), ("attestation", .string(proof.object))], invocation)
        } catch {
            throw failure("\(error)")
        }
    }

    @Sendable static func assert(_ invocation: Invocation) throws(CommandFailure) {
        let directory = LabDirectory(path: invocation["--lab"] ?? "")
        let app = iOSApp(invocation)
        let keyID = invocation["--key-id"] ?? ""
        let hash = try binding(invocation, .signIn).hash.bytes
        let counter = UInt32(try invocation.integer("--counter", in: 0...Int(UInt32.max)) ?? 1)
        let fault = try choice(invocation, "--fault", LabAppleProofs.AssertionFault.init(rawValue:))
        do {
            let lab = try directory.authorities()
            let key = try directory.key(keyID)
            let assertion = try LabAppleProofs(lab, app: app)
                .assertion(key: key, clientDataHash: hash, counter: counter, fault: fault)
            if invocation.has("--vector") {
                let vector = LabVectors(lab, at: .now()).assertion(
                    assertion,
                    point: key.publicKey.point ?? [],
                    app: app,
                    previousCounter: counter == 0 ? 0 : counter - 1,
                    clientDataHash: hash
                )
                return show(vector)
            }
            show(
                [("platform", .string("ios")), ("keyId", .string(keyID)), ("assertion", .string(assertion))],
                invocation
            )
        } catch {
            throw failure("\(error)")
        }
    }

    @Sendable static func android(_ invocation: Invocation) throws(CommandFailure) {
        let app = try androidApp(invocation)
        let challenges = try binding(invocation, .signIn).androidChallenges
        let state = try choice(invocation, "--state", LabAndroidProofs.State.init(rawValue:)) ?? .hardware
        do {
            let lab = try LabDirectory(path: invocation["--lab"] ?? "").authorities()
            let chain = try LabAndroidProofs(lab, app: app).chain(challenge: challenges[0], state: state, at: .now())
            if invocation.has("--vector") {
                return show(LabVectors(lab, at: .now()).chain(chain, app: app, challenges: challenges))
            }
            let certificates = JSONValue.array(chain.map { .string($0) })
            show([("platform", .string("android")), ("certificateChain", certificates)], invocation)
        } catch {
            throw failure("\(error)")
        }
    }

    @Sendable static func play(_ invocation: Invocation) throws(CommandFailure) {
        let app = try androidApp(invocation)
        let nonce = invocation["--nonce"] ?? ""
        let verdict = try choice(invocation, "--verdict", LabPlayTokens.Verdict.init(rawValue:)) ?? .pass
        do {
            let lab = try LabDirectory(path: invocation["--lab"] ?? "").authorities()
            let token = try LabPlayTokens(lab, app: app).token(nonce: nonce, verdict: verdict, at: .now())
            if invocation.has("--vector") {
                return show(LabVectors(lab, at: .now()).token(token, app: app, nonce: nonce))
            }
            show(
                [("platform", .string("android")), ("nonce", .string(nonce)), ("integrityToken", .string(token))],
                invocation
            )
        } catch {
            throw failure("\(error)")
        }
    }

    /// A verb that could not do what it was asked.
    static func failure(_ message: String) -> CommandFailure {
        CommandFailure(exit: .refused, code: "lab_failed", message: message)
    }

    private static func show(_ value: JSONValue) {
        Terminal.print(Output.json(value))
    }

    /// The challenge, where there is one, goes with the proof: the pair is what a client sends.
    private static func show(_ members: [(String, JSONValue)], _ invocation: Invocation) {
        let challenge = invocation["--challenge"].map { [("challenge", JSONValue.string($0))] } ?? []
        show(.members(members + challenge))
    }

    private static func iOSApp(_ invocation: Invocation) -> AppleApp {
        AppleApp(teamID: invocation["--team-id"] ?? "", bundleID: invocation["--bundle-id"] ?? "")
    }

    private static func androidApp(_ invocation: Invocation) throws(CommandFailure) -> AndroidApp {
        let fingerprint = invocation["--sha256"] ?? ""
        guard let app = AndroidApp(package: invocation["--package"] ?? "", fingerprints: [fingerprint]) else {
            throw .usage("\"\(fingerprint)\" is no SHA-256 fingerprint", seeHelpOf: invocation.command.name)
        }
        return app
    }

    private static func binding(
        _ invocation: Invocation,
        _ purpose: ProofBinding.Purpose
    ) throws(CommandFailure) -> ProofBinding {
        switch (invocation["--nonce"], invocation["--challenge"], invocation["--app-id"]) {
        case (let nonce?, nil, nil): return ProofBinding(nonce: nonce)
        case (nil, let challenge?, let appID?):
            return ProofBinding(challenge: challenge, appID: appID, purpose: purpose)
        default:
            throw .usage("give --challenge and --app-id, or --nonce alone", seeHelpOf: invocation.command.name)
        }
    }

    private static func choice<Word>(
        _ invocation: Invocation,
        _ option: String,
        _ word: (String) -> Word?
    ) throws(CommandFailure) -> Word? {
        guard let text = invocation[option] else { return nil }
        guard let word = word(text) else {
            throw .usage("\(option) does not know \"\(text)\"", seeHelpOf: invocation.command.name)
        }
        return word
    }
}
