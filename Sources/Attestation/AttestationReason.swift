// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why a proof is refused, fails or counts for less; the words that clients, logs and statistics see.
package enum AttestationReason: String, Sendable, Hashable, CaseIterable {
    // What no policy softens.

    /// Bytes that are not what they should be, a broken chain, or parts that do not belong together.
    case malformed
    /// A good challenge, but the proof was made over something else.
    case nonceMismatch = "nonce_mismatch"
    /// No registered pair has the attested app.
    case appNotRegistered = "app_not_registered"
    /// No registered pair has the attested package.
    case packageMismatch = "package_mismatch"
    /// The package is registered, but not with this signer.
    case signingCertificateMismatch = "signing_certificate_mismatch"
    /// The chain names no application.
    case noApplicationID = "no_application_id"
    /// A development key where the app accepts production only.
    case developmentNotAllowed = "development_not_allowed"
    /// A production key where the app accepts development only.
    case productionNotAllowed = "production_not_allowed"
    /// Key id, credential id, COSE key and certificate key are not one key.
    case keyMismatch = "key_mismatch"
    /// A signature that the key did not make over this.
    case badSignature = "bad_signature"
    /// An assertion counter that is not above the last accepted one.
    case counterNotIncreasing = "counter_not_increasing"
    /// A challenge that is unknown, expired, spent or another app's.
    case challengeInvalid = "challenge_invalid"
    /// An assertion of a key that this app does not hold.
    case unknownKey = "unknown_key"
    /// The install is blocked.
    case deviceBlocked = "device_blocked"
    /// Nothing is registered that such a proof could be checked against.
    case notConfigured = "not_configured"

    // What degrades an Android device; the first two refuse an Apple key.

    /// The chain does not end at a vendor's root.
    case untrustedRoot = "untrusted_root"
    /// A certificate whose dates count is outside of them.
    case certificateExpired = "certificate_expired"
    /// A certificate of the chain is on the status list.
    case revokedCertificate = "revoked_certificate"
    /// The key or its attestation lives in software.
    case softwareAttestation = "software_attestation"
    /// The hardware says nothing about how the device booted.
    case noRootOfTrust = "no_root_of_trust"
    /// The bootloader is unlocked.
    case bootloaderUnlocked = "bootloader_unlocked"
    /// The system that booted is not the vendor's.
    case bootNotVerified = "boot_not_verified"
    /// The device reports that it has no key attestation.
    case deviceCannotAttest = "device_cannot_attest"

    // Play Integrity.

    /// The token was not sealed for this app's key.
    case decryptionFailed = "decryption_failed"
    /// The token is too old, or from the future.
    case tokenExpired = "token_expired"
    /// Google does not know this build.
    case appNotRecognised = "app_not_recognised"
    /// Google did not judge the build.
    case appNotEvaluated = "app_not_evaluated"
    /// The app was not installed from the store.
    case appUnofficialInstall = "app_unofficial_install"
    /// Google did not judge the licence.
    case licenceNotEvaluated = "licence_not_evaluated"
    /// The device does not meet device integrity.
    case deviceNotTrusted = "device_not_trusted"
    /// The device is an emulator.
    case deviceEmulator = "device_emulator"
    /// A test response set up in the store's console.
    case testingResponse = "testing_response"
    /// No keys or credentials to judge tokens with.
    case verifierNotConfigured = "verifier_not_configured"
    /// The vendor's service gave no answer.
    case platformUnavailable = "platform_unavailable"
}
