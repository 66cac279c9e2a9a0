// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Every property by name; the fuzzer and the timing of inputs choose from it.
package enum FuzzTargets {
    /// The names and bodies.
    package static let all: [(name: String, body: @Sendable ([UInt8]) -> Void)] = [
        ("der", { ReaderProperties.der($0) }),
        ("cbor", { ReaderProperties.cbor($0) }),
        ("json", { ReaderProperties.json($0) }),
        ("text", { ReaderProperties.text($0) }),
        ("certificate", { ProofProperties.certificate($0) }),
        ("key-description", { ProofProperties.keyDescription($0) }),
        ("attestation", { ProofProperties.attestation($0) }),
        ("assertion", { ProofProperties.assertion($0) }),
        ("chain", { ProofProperties.chain($0) }),
        ("token", { ProofProperties.token($0) }),
        ("document", { ProofProperties.document($0) }),
    ]
}
