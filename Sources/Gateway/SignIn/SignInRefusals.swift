// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials

/// The refusals of the sign-in service of dialect A, with the steps that mend them (dialects.md A.8).
extension Refusal {
    /// 401: the body carries no attestation (OFF-012).
    static func missingAttestation(_ policy: SignInPolicy) -> Refusal {
        Refusal(
            .appCredentialsRequired,
            missing: policy.hasNativeApp ? .attestation : .nativeRegistration,
            appID: policy.appID,
            nextSteps: policy.hasNativeApp ? [NextSteps.attest] : NextSteps.registerNative
        )
    }

    /// 403: what came does not do for this operation.
    static func attestationRequired(_ policy: SignInPolicy) -> Refusal {
        Refusal(
            .attestationRequired,
            missing: .attestation,
            appID: policy.appID,
            nextSteps: ["sallyport status", "Then sign in from a registered build on a physical device."]
        )
    }

    /// 403: no app of the platform is registered.
    static func attestationNotConfigured(_ platform: AttestationReason.Platform, _ policy: SignInPolicy) -> Refusal {
        Refusal(
            .attestationNotConfigured,
            missing: .nativeRegistration,
            appID: policy.appID,
            nextSteps: [platform == .ios ? NextSteps.registerApple : NextSteps.registerAndroid(nil)]
        )
    }

    /// 403: a simulator, an emulator or an app shell, and development mode is off (OFF-089).
    static func developmentModeRequired(_ policy: SignInPolicy) -> Refusal {
        var refusal = Refusal(.developmentModeRequired, missing: .developmentMode, appID: policy.appID)
        if policy.isProduction {
            refusal.sentence = "This device cannot attest, and the application is marked production."
            refusal.nextSteps = [
                "sallyport apps create --name <name>-dev", "Test simulators against that separate application.",
            ]
        } else {
            refusal.nextSteps = [
                NextSteps.developmentMode, "Or sign in from a development build on a physical device.",
            ]
        }
        return refusal
    }

    /// 401: a session of development mode outlived it (OFF-086).
    static func developmentEnded(_ policy: SignInPolicy) -> Refusal {
        Refusal(
            .appCredentialsRequired,
            missing: .developmentMode,
            appID: policy.appID,
            nextSteps: NextSteps.developmentEnded(isProduction: policy.isProduction)
        )
    }

    /// 403: the proof does not verify, or the state of the device is not accepted; `package`: what the proof is of.
    static func attestationFailed(
        _ reason: AttestationReason,
        on platform: AttestationReason.Platform,
        of package: String? = nil,
        _ policy: SignInPolicy
    ) -> Refusal {
        if reason == .unknownKey {
            return Refusal(
                .attestationKeyUnknown,
                appID: policy.appID,
                nextSteps: [NextSteps.newKey]
            )
        }
        let word = reason.offlineWord(on: platform)
        var refusal = Refusal(
            .attestationFailed,
            reason: word,
            appID: policy.appID,
            nextSteps: SignInSteps.mending(word, on: platform, of: package, policy)
        )
        if SignInSteps.deviceStates.contains(word) {
            refusal.sentence = "This application does not accept this device state."
        }
        return refusal
    }

    /// 403: the route asks for more trust than the device has.
    static func trustTooLow(_ trust: Trust, _ least: Trust, _ policy: SignInPolicy) -> Refusal {
        Refusal(
            .trustTooLow,
            appID: policy.appID,
            nextSteps: [NextSteps.registeredBuild],
            details: [("trust", trust.rawValue), ("required", least.rawValue)]
        )
    }

    /// 400 or 415: the body is not the form of the endpoint.
    static func form(_ fault: FormFault, appID: AppID?) -> Refusal {
        switch fault {
        case .mediaType:
            Refusal(
                .unsupportedMediaType,
                appID: appID,
                nextSteps: [NextSteps.plainJSON]
            )
        case .notJSON(let reason):
            Refusal(.badRequest, reason: reason, appID: appID, nextSteps: ["Send one JSON object."])
        case .notAnObject:
            Refusal(.badRequest, reason: "not_an_object", appID: appID, nextSteps: ["Send one JSON object."])
        case .field(let name):
            Refusal(
                .badRequest,
                reason: "field",
                appID: appID,
                nextSteps: ["Send \(name) as a text."],
                details: [("field", name)]
            )
        }
    }
}

/// What mends a refused sign-in.
enum SignInSteps {
    /// The states of a device that a policy may accept.
    static let deviceStates: Set<String> = Set(
        [
            AttestationReason.softwareAttestation, .bootloaderUnlocked, .bootNotVerified, .untrustedRoot,
            .noRootOfTrust, .certificateExpired, .revokedCertificate, .deviceCannotAttest,
        ].map(\.rawValue)
    )

    /// The steps for a reason of `attestation_failed`.
    ///
    /// `package` is what the proof says: it is filled in only where it has the form of one, and so is safe to paste.
    static func mending(
        _ word: String,
        on platform: AttestationReason.Platform,
        of package: String?,
        _ policy: SignInPolicy
    ) -> [String] {
        let package = package.flatMap { NativeNames.isBundleID($0) ? $0 : nil }
        if deviceStates.contains(word) { return ["sallyport degraded allow"] }
        switch word {
        case "app_not_registered": return [NextSteps.registerApple]
        case "package_mismatch": return [NextSteps.registerAndroid(package)]
        case "signing_certificate_mismatch":
            return [NextSteps.registerAndroid(package ?? (policy.packages.count == 1 ? policy.packages[0] : nil))]
        case "development_not_allowed":
            return ["sallyport dev-builds on", "Or sign in from a TestFlight or App Store build."]
        case "challenge_invalid", "nonce_mismatch": return ["Request a new challenge for each attempt."]
        case "counter_not_increasing": return ["Make one assertion for each challenge."]
        case "device_blocked": return ["sallyport devices unblock <device>"]
        default:
            return [
                platform == .ios
                    ? "Send what App Attest returned, in base64, with the key id that it was made for."
                    : "Send the full chain of a fresh key, leaf first."
            ]
        }
    }
}
