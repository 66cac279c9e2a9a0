// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The words in which each family of endpoints tells a reason to its clients.
///
/// One reason, three vocabularies: the switches are exhaustive, so a new reason must be given its words.
extension AttestationReason {
    /// Which platform a reason was found on; some words differ.
    package enum Platform: Sendable, Hashable {
        case ios, android
    }

    /// `data.reason` of the `offlineid` family.
    ///
    /// A wrong binding and a wrong signature look the same on an assertion, so both are `nonce_mismatch` (OFF-038).
    package func offlineWord(on platform: Platform) -> String {
        switch self {
        case .badSignature: Self.nonceMismatch.rawValue
        case .keyMismatch, .decryptionFailed: Self.malformed.rawValue
        case .tokenExpired: Self.challengeInvalid.rawValue
        case .productionNotAllowed: Self.appNotRegistered.rawValue
        case .unknownKey: "attestation_key_unknown"
        // An Apple chain that is not Apple's is no state of a device: nothing softens it.
        case .untrustedRoot, .certificateExpired: platform == .ios ? Self.malformed.rawValue : rawValue
        case .malformed, .nonceMismatch, .appNotRegistered, .packageMismatch, .signingCertificateMismatch,
            .noApplicationID, .developmentNotAllowed, .counterNotIncreasing, .challengeInvalid, .deviceBlocked,
            .notConfigured, .revokedCertificate, .softwareAttestation, .noRootOfTrust, .bootloaderUnlocked,
            .bootNotVerified, .deviceCannotAttest, .appNotRecognised, .appNotEvaluated, .appUnofficialInstall,
            .licenceNotEvaluated, .deviceNotTrusted, .deviceEmulator, .testingResponse, .verifierNotConfigured,
            .platformUnavailable:
            rawValue
        }
    }

    /// The reason and verdict of the `vouch` family (13.2, VCH-017).
    package var vouchOutcome: (word: String, trust: IntegrityTrust) {
        switch self {
        case .counterNotIncreasing: ("assertion_counter_replay", .fail)
        case .nonceMismatch, .badSignature, .tokenExpired, .challengeInvalid: (Self.nonceMismatch.rawValue, .fail)
        case .malformed, .keyMismatch, .decryptionFailed, .noApplicationID: (Self.malformed.rawValue, .fail)
        case .appNotRegistered, .packageMismatch, .signingCertificateMismatch, .developmentNotAllowed,
            .productionNotAllowed, .appNotRecognised, .notConfigured:
            (Self.appNotRecognised.rawValue, .fail)
        case .appUnofficialInstall, .deviceEmulator: (rawValue, .fail)
        case .untrustedRoot, .certificateExpired, .revokedCertificate, .softwareAttestation, .noRootOfTrust,
            .bootloaderUnlocked, .bootNotVerified, .deviceCannotAttest, .deviceNotTrusted, .testingResponse,
            .unknownKey,
            .deviceBlocked:
            (Self.deviceNotTrusted.rawValue, .fail)
        case .appNotEvaluated, .licenceNotEvaluated, .verifierNotConfigured, .platformUnavailable: (rawValue, .degraded)
        }
    }

    /// `reason` of the `appengine` family (13.3), or nil for what it does not ask for.
    ///
    /// On iOS a client answers three words with a fresh key; nothing that a fresh key cannot mend may use them.
    package func appEngineWord(on platform: Platform) -> String? {
        switch self {
        case .nonceMismatch, .unknownKey, .badSignature, .counterNotIncreasing, .deviceBlocked, .packageMismatch:
            rawValue
        case .malformed, .decryptionFailed, .keyMismatch, .untrustedRoot, .certificateExpired:
            platform == .ios ? "attestation_invalid" : Self.badSignature.rawValue
        case .challengeInvalid: "nonce_invalid"
        case .notConfigured, .verifierNotConfigured: platform == .ios ? "ios_not_configured" : "android_not_configured"
        case .appNotRegistered, .developmentNotAllowed, .productionNotAllowed: "app_mismatch"
        case .signingCertificateMismatch: "certificate_mismatch"
        case .tokenExpired: "token_too_old"
        case .appNotRecognised, .appNotEvaluated, .appUnofficialInstall, .testingResponse, .noApplicationID:
            "app_not_recognized"
        case .deviceNotTrusted, .deviceEmulator, .revokedCertificate, .softwareAttestation, .noRootOfTrust,
            .bootloaderUnlocked, .bootNotVerified, .deviceCannotAttest, .platformUnavailable:
            "device_integrity"
        case .licenceNotEvaluated: nil
        }
    }
}
