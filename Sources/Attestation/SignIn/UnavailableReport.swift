// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why a client says that it has no proof (OFF-063).
package enum UnavailableReport: String, Sendable, Hashable, CaseIterable {
    /// The iOS simulator.
    case simulator
    /// An Android emulator.
    case emulator
    /// An app shell without the native module.
    case expoGo = "expo_go"
    /// An Android device without key attestation.
    case unsupported
    /// An Android device whose key store failed.
    case keystoreError = "keystore_error"

    /// What a report is worth.
    package enum Outcome: Sendable, Hashable {
        /// Accepted as development: development mode is on.
        case development
        /// Accepted as degraded, for this reason.
        case degraded(AttestationReason)
        /// Refused: only development mode would take it.
        case developmentModeRequired
        /// Refused: a proof is asked for.
        case attestationRequired
        /// Refused: the app takes no degraded devices.
        case attestationFailed(AttestationReason)
        /// Refused: no Android app is registered that it could be a device of.
        case attestationNotConfigured
    }

    /// Which platform a client says it is.
    package enum Platform: String, Sendable, Hashable {
        case ios, android
    }

    /// What the report `word` from `platform` is worth (OFF-061 to 065).
    package static func outcome(
        of word: String,
        platform: Platform,
        isDevelopmentModeOn: Bool,
        allowsDegraded: Bool,
        hasAndroidApp: Bool
    ) -> Outcome {
        guard let report = UnavailableReport(rawValue: word), report.isPossible(on: platform) else {
            return .attestationRequired
        }
        if isDevelopmentModeOn { return .development }
        switch report {
        case .simulator, .emulator, .expoGo: return .developmentModeRequired
        case .unsupported, .keystoreError:
            guard hasAndroidApp else { return .attestationNotConfigured }
            return allowsDegraded ? .degraded(.deviceCannotAttest) : .attestationFailed(.deviceCannotAttest)
        }
    }

    /// An iOS client must not reach the degraded path, which is Android's.
    private func isPossible(on platform: Platform) -> Bool {
        switch self {
        case .expoGo: true
        case .simulator: platform == .ios
        case .emulator, .unsupported, .keystoreError: platform == .android
        }
    }
}
