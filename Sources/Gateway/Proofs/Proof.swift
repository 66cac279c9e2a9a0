// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation
package import Credentials

/// A native proof as a client sent it, whatever the dialect called its parts.
package enum Proof: Sendable {
    /// A new App Attest key: its id and the attestation object, both in base64 of either alphabet.
    case appleAttestation(keyID: String, object: String)
    /// A signature of a registered App Attest key: its id and the assertion, both in base64 of either alphabet.
    case appleAssertion(keyID: String, object: String)
    /// An Android key attestation: DER certificates in base64, leaf first.
    case androidKey(chain: [String])
    /// A classic Play Integrity token.
    case playToken(String)
}

/// The three ways to prove an app natively.
package enum ProofMethod: String, Sendable {
    case appAttest = "app_attest"
    case keyAttestation = "key_attestation"
    case playIntegrity = "play_integrity"
}

/// What a proof is worth.
package struct ProofVerdict: Sendable, Equatable {
    /// `hardware` or `degraded`; `development` where a lab vouched; nil: refused.
    package let trust: Trust?
    /// Why trust was lowered or refused, the deciding reason first; empty where nothing was found.
    package let reasons: [AttestationReason]
    /// How it was proved.
    package let method: ProofMethod
    /// Whether a lab's authority vouched for it: then trust is `development` and the reasons say what the lab played.
    private let isLab: Bool
    /// The App Attest key, in lower-case hexadecimal; nil where none was proved.
    package let deviceKey: String?
    /// The package that a key attestation names, whether or not it is registered; nil where it names none or several.
    package let package: String?

    /// A verdict of these parts; `trust` is lowered to `development` where a lab vouched.
    package init(
        trust: Trust?,
        reasons: [AttestationReason] = [],
        method: ProofMethod,
        provenance: Provenance? = .vendor,
        deviceKey: String? = nil,
        package: String? = nil
    ) {
        let isLab = provenance == .lab
        self.isLab = isLab
        self.trust = isLab && trust != nil ? .development : trust
        self.reasons = reasons
        self.method = method
        self.deviceKey = deviceKey
        self.package = package
    }

    /// A refusal for one reason.
    package static func refused(_ reason: AttestationReason, _ method: ProofMethod) -> ProofVerdict {
        ProofVerdict(trust: nil, reasons: [reason], method: method)
    }

    /// Whether the device is not what it should be, also where a lab played it: an app that refuses such devices
    /// refuses the lab's too, so that its tests see what its users will.
    package var isDegraded: Bool {
        trust == .degraded || (isLab && trust != nil && !reasons.isEmpty)
    }

    /// The deciding reason.
    package var reason: AttestationReason? {
        reasons.first
    }
}
