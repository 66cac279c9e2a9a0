// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Crypto
import Encodings
import Gateway

/// Judging proofs, and making them for a team's own tests; no gateway need run.
enum LabCommands {
    static let all: [Command] = [
        Command(
            words: ["lab", "judge"],
            summary: "print the verdict on proofs in vector files",
            operands: [
                Operand(name: "FILE", help: "a vector, a directory of them, or - for one a line", mayRepeat: true)
            ],
            options: [.json, Option(name: "--trust", value: "DIR", help: "where roots that vectors name by file lie")],
            notes: "Ends with 1 if a verdict is not what its file expects.",
            run: judge
        ),
        Command(
            words: ["lab", "init"],
            summary: "make fake Apple and Google authorities in a new directory",
            operands: [Operand(name: "DIR", help: "where they go; keys in it are readable by you alone")],
            run: create
        ),
        Command(
            words: ["lab", "ios", "attest"],
            summary: "make an App Attest key and its attestation",
            options: LabOptions.lab + LabOptions.iOS + LabOptions.binding + [
                LabOptions.choice("--environment", ["production", "development"], "which environment made the key"),
                LabOptions.choice("--fault", LabAppleProofs.AttestationFault.allCases.map(\.rawValue), "what is wrong"),
                LabOptions.vector,
            ],
            run: LabProofCommands.attest
        ),
        Command(
            words: ["lab", "ios", "assert"],
            summary: "make an assertion of a key that lab ios attest made",
            options: LabOptions.lab + LabOptions.iOS + LabOptions.binding + [
                Option(name: "--key-id", value: "K", help: "the key id that attest printed", isRequired: true),
                Option(name: "--counter", value: "N", help: "the assertion's counter; 1 when not given"),
                LabOptions.choice("--fault", LabAppleProofs.AssertionFault.allCases.map(\.rawValue), "what is wrong"),
                LabOptions.vector,
            ],
            run: LabProofCommands.assert
        ),
        Command(
            words: ["lab", "android"],
            summary: "make an Android key attestation",
            options: LabOptions.lab + LabOptions.android + LabOptions.binding + [
                LabOptions.choice("--state", LabAndroidProofs.State.allCases.map(\.rawValue), "the device's state"),
                LabOptions.vector,
            ],
            run: LabProofCommands.android
        ),
        Command(
            words: ["lab", "play"],
            summary: "make a Play Integrity token",
            options: LabOptions.lab + LabOptions.android + [
                Option(name: "--nonce", value: "N", help: "the nonce that the token answers", isRequired: true),
                LabOptions.choice("--verdict", LabPlayTokens.Verdict.allCases.map(\.rawValue), "what Google would say"),
                LabOptions.vector,
            ],
            run: LabProofCommands.play
        ),
    ]

    @Sendable private static func judge(_ invocation: Invocation) throws(CommandFailure) {
        let judge = JudgeCommand(
            paths: invocation.operands,
            printsJSON: invocation.wantsJSON,
            trustDirectory: invocation["--trust"],
            now: .now()
        )
        let isClean = judge.run(
            print: { Terminal.print($0 + "\n") },
            complain: { Terminal.complain($0 + "\n") }
        )
        // Every line has been printed; the exit code says the rest.
        if !isClean { throw CommandFailure.told }
    }

    @Sendable private static func create(_ invocation: Invocation) throws(CommandFailure) {
        let path = invocation.operands[0]
        do {
            try LabDirectory(path: path).create(at: .now())
        } catch {
            throw LabProofCommands.failure("\(error)")
        }
        Terminal.print("\(path) holds a lab. Its proofs count for an app where lab trust is on, as development.\n")
    }
}

/// Options that lab verbs share.
enum LabOptions {
    static let lab = [Option(name: "--lab", value: "DIR", help: "the lab's directory", isRequired: true)]
    static let iOS = [
        Option(name: "--team-id", value: "T", help: "the signing team", isRequired: true),
        Option(name: "--bundle-id", value: "B", help: "the bundle id", isRequired: true),
    ]
    static let android = [
        Option(name: "--package", value: "P", help: "the package name", isRequired: true),
        Option(name: "--sha256", value: "F", help: "the signing certificate's fingerprint", isRequired: true),
    ]
    static let binding = [
        Option(name: "--challenge", value: "C", help: "the challenge that the gateway issued"),
        Option(name: "--app-id", value: "A", help: "the App ID that the challenge is for"),
        Option(name: "--nonce", value: "N", help: "in place of both: a nonce that is hashed as it is"),
    ]
    static let vector = Option(name: "--vector", help: "print a vector file, which lab judge reads")

    static func choice(_ name: String, _ words: [String], _ help: String) -> Option {
        Option(name: name, value: "WORD", help: "\(help): \(words.joined(separator: ", "))")
    }
}
