// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation

/// The codes that an exchange of dialect vouch may give (13.2), each with its verdict and its sentence.
struct VouchReason: Sendable, Hashable {
    let code: String

    /// What the code alone makes of the verdict; nil: nothing, as a signal (VCH-007) or a development device.
    var trust: IntegrityTrust? { Self.table[code]?.trust }
    var sentence: String { Self.table[code]?.sentence ?? code }

    /// The reason of what a verifier found.
    init(_ reason: AttestationReason) {
        code = reason.vouchOutcome.word
    }

    /// The reason of a code of the table.
    init?(code: String) {
        guard Self.table[code] != nil else { return nil }
        self.code = code
    }

    private init(known code: String) {
        self.code = code
    }

    static let debugDevice = VouchReason(known: "debug_device")
    static let policyRefused = VouchReason(known: "policy_refused")
    static let nonceMismatch = VouchReason(known: "nonce_mismatch")
    static let malformed = VouchReason(known: "malformed")

    /// What a device may say instead of a proof, by platform (VCH-003).
    static let unavailable: [VouchPlatform: String] = [.android: "no_play_services", .ios: "attest_unsupported"]
    /// What the SDK may notice; anything else is not taken (VCH-006).
    static let signals = [
        "signal_rooted", "signal_debugger", "signal_hooking", "signal_repackaged", "signal_emulator",
        "signal_unofficial_installer",
    ]
    /// What a policy may be about beside the whole of `degraded`: everything that does not fail by itself (VCH-032).
    static let policySubjects = table.filter { $0.value.trust == .degraded }.map(\.key).sorted() + signals
    /// Codes that fail by themselves, which no policy is about.
    static let failures = table.filter { $0.value.trust == .fail }.map(\.key).sorted()

    private static let table: [String: (trust: IntegrityTrust?, sentence: String)] = [
        "debug_device": (nil, "Registered development device, attestation skipped."),
        "verifier_not_configured": (.degraded, "No Play Integrity credentials are set on this server."),
        "no_play_services": (.degraded, "The device has no Google Play services."),
        "attest_unsupported": (.degraded, "The device is older than App Attest."),
        "platform_unavailable": (.degraded, "The platform's service could not be reached."),
        "app_not_evaluated": (.degraded, "The platform did not judge the app."),
        "licence_not_evaluated": (.degraded, "The platform did not judge the licence."),
        "app_not_recognised": (.fail, "The platform does not recognise the app as a registered build."),
        "app_unofficial_install": (.fail, "The app was not installed from the official store."),
        "device_not_trusted": (.fail, "The platform does not trust the device."),
        "device_emulator": (.fail, "The platform reports an emulator."),
        "nonce_mismatch": (.fail, "The proof was not made for this nonce."),
        "assertion_counter_replay": (.fail, "The App Attest assertion was used before."),
        "malformed": (.fail, "The proof cannot be read."),
        "policy_refused": (nil, "The app's policy refuses this device."),
        "signal_rooted": (nil, "The app reports a rooted device."),
        "signal_debugger": (nil, "The app reports a debugger."),
        "signal_hooking": (nil, "The app reports hooking."),
        "signal_repackaged": (nil, "The app reports that it was repackaged."),
        "signal_emulator": (nil, "The app reports an emulator."),
        "signal_unofficial_installer": (nil, "The app reports another installer than the store's."),
    ]
}

/// The platform that an exchange is for.
enum VouchPlatform: String, Sendable {
    case ios, android
}

/// What decided a verdict (VCH-038).
enum VouchSource: String, Sendable {
    case debug
    case appAttest = "app_attest"
    case playIntegrity = "play_integrity"
    case none
}
