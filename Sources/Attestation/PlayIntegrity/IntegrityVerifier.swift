// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
package import Encodings

/// Where a token was decided: before `verdict` it is the request that is refused, not the device.
///
/// Whatever is malformed counts as `decrypt`, wherever it was noticed.
package enum IntegrityStage: String, Sendable, Hashable {
    case decrypt, signature, binding, verdict
}

/// What a Play Integrity token is worth.
package enum IntegrityTrust: String, Sendable, Hashable {
    /// Genuine app, device and install.
    case pass
    /// Not vouched for in full.
    case degraded
    /// Not so, or not for us.
    case fail
}

/// The outcome of judging a Play Integrity token.
package struct IntegrityVerdict: Sendable, Equatable {
    /// What it is worth.
    package let trust: IntegrityTrust
    /// Every reason, those of the worst verdict first.
    package let reasons: [AttestationReason]
    /// Where it was decided.
    package let stage: IntegrityStage
    /// Who vouches for it; nil unless the token was read.
    package let provenance: Provenance?

    /// The deciding reason.
    package var reason: AttestationReason? {
        reasons.first
    }

    /// A verdict of these parts.
    package init(trust: IntegrityTrust, reasons: [AttestationReason], stage: IntegrityStage, provenance: Provenance?) {
        self.trust = trust
        self.reasons = reasons
        self.stage = stage
        self.provenance = provenance
    }

    /// A token that is refused before its verdict.
    package static func failed(_ reason: AttestationReason, at stage: IntegrityStage) -> IntegrityVerdict {
        IntegrityVerdict(trust: .fail, reasons: [reason], stage: stage, provenance: nil)
    }

    /// No way to judge tokens is configured: every device is degraded, and nothing fails (VCH-015).
    package static let notConfigured = IntegrityVerdict(
        trust: .degraded,
        reasons: [.verifierNotConfigured],
        stage: .decrypt,
        provenance: nil
    )
    /// The vendor gave no answer (VCH-016).
    package static let unavailable = IntegrityVerdict(
        trust: .degraded,
        reasons: [.platformUnavailable],
        stage: .decrypt,
        provenance: nil
    )
}

/// Judges classic Play Integrity tokens that are opened here, and payloads that Google opened for us.
package struct IntegrityVerifier: Sendable {
    /// The pairs that the app registered; a package without signers accepts any (APP-036).
    package let apps: [AndroidApp]
    /// How old a token may be, in seconds (APP-032).
    package let maximumAge: Int64
    /// Whether test responses from the store's console count like real ones.
    private let allowsTestingResponses: Bool

    /// How far ahead of our clock Google's may be, in seconds.
    private static let maximumSkew: Int64 = 60

    /// A verifier for one app.
    package init(apps: [AndroidApp], maximumAge: Int64 = 300, allowsTestingResponses: Bool = false) {
        self.apps = apps
        self.maximumAge = maximumAge
        self.allowsTestingResponses = allowsTestingResponses
    }

    /// Judges `token`, opened with the first of `keys` that it was sealed for.
    package func verdict(on token: String, keys: [PlayIntegrityKeys], nonce: String, at now: Moment) -> IntegrityVerdict
    {
        var failure: IntegrityToken.Failure?
        for candidate in keys {
            do {
                let payload = try IntegrityToken.payload(of: token, keys: candidate)
                return verdict(onPayload: payload, nonce: nonce, at: now, provenance: candidate.provenance)
            } catch {
                failure = failure ?? error
                // Another key can only help a token that this one did not open.
                guard error.reason == .decryptionFailed else { break }
            }
        }
        guard let failure else { return .notConfigured }
        return .failed(failure.reason, at: failure.stage)
    }

    /// Judges a payload that has been opened and whose signature is right.
    package func verdict(
        onPayload payload: JSONObject,
        nonce: String,
        at now: Moment,
        provenance: Provenance = .vendor
    ) -> IntegrityVerdict {
        if let reason = bindingProblem(in: payload, nonce: nonce, at: now) {
            return .failed(reason, at: reason == .malformed ? .decrypt : .binding)
        }
        let findings = findings(in: payload)
        let failures = findings.filter { $0.trust == .fail }
        let doubts = findings.filter { $0.trust == .degraded }
        return IntegrityVerdict(
            trust: failures.isEmpty ? (doubts.isEmpty ? .pass : .degraded) : .fail,
            reasons: (failures + doubts).map(\.reason),
            stage: .verdict,
            provenance: provenance
        )
    }

    /// Whether the token is an answer to our question, by our app, of just now.
    private func bindingProblem(in payload: JSONObject, nonce: String, at now: Moment) -> AttestationReason? {
        guard let request = payload["requestDetails"]?.object else { return .malformed }
        // A token with a hash in place of a nonce answers a standard request, which we did not make.
        guard let signed = request["nonce"]?.string, Self.areSameNonce(signed, nonce) else { return .nonceMismatch }
        guard let issued = Self.timestamp(request["timestampMillis"]) else { return .malformed }
        let (age, overflow) = now.milliseconds.subtractingReportingOverflow(issued)
        guard !overflow, age <= maximumAge * 1_000, age >= -Self.maximumSkew * 1_000 else { return .tokenExpired }
        guard let package = request["requestPackageName"]?.string, registered(package) != nil else {
            return .packageMismatch
        }
        return nil
    }

    /// Google pads nonces and may change their alphabet: padding is dropped, and what counts is the bytes.
    private static func areSameNonce(_ signed: String, _ issued: String) -> Bool {
        do {
            let signed = try nonceBytes(signed)
            let issued = try nonceBytes(issued)
            return !issued.isEmpty && signed == issued
        } catch {
            return false
        }
    }

    private static func nonceBytes(_ text: String) throws(Base64Error) -> [UInt8] {
        var text = text[...]
        while text.last == "=" { text.removeLast() }
        return try Base64.decode(String(text), alphabet: .either, padding: .forbidden, limit: 1_024)
    }

    private static func timestamp(_ value: JSONValue?) -> Int64? {
        let digits = value?.string ?? (value?.integer).map { String($0) }
        guard let digits, !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(digits)
    }

    private func registered(_ package: String) -> AndroidApp? {
        apps.first { $0.package.hasSameBytes(as: package) }
    }

    private struct Finding {
        let trust: IntegrityTrust
        let reason: AttestationReason
    }

    private func findings(in payload: JSONObject) -> [Finding] {
        var findings: [Finding] = []
        if let reason = appProblem(payload["appIntegrity"], requestedBy: payload["requestDetails"]) {
            findings.append(Finding(trust: reason == .appNotEvaluated ? .degraded : .fail, reason: reason))
        }
        if let finding = deviceFinding(payload["deviceIntegrity"]) { findings.append(finding) }
        switch payload["accountDetails"]?["appLicensingVerdict"]?.string {
        case "LICENSED": break
        case "UNLICENSED": findings.append(Finding(trust: .fail, reason: .appUnofficialInstall))
        default: findings.append(Finding(trust: .degraded, reason: .licenceNotEvaluated))
        }
        // Whatever the value is, unless it says no, somebody set this answer up.
        let testing = payload["testingDetails"]?["isTestingResponse"]
        if let testing, testing != .bool(false), !allowsTestingResponses {
            findings.append(Finding(trust: .fail, reason: .testingResponse))
        }
        return findings
    }

    /// The package that asked can be spoofed, so the one that Google recognised must be it.
    private func appProblem(_ integrity: JSONValue?, requestedBy request: JSONValue?) -> AttestationReason? {
        switch integrity?["appRecognitionVerdict"]?.string {
        case "PLAY_RECOGNIZED": break
        case "UNRECOGNIZED_VERSION": return .appNotRecognised
        default: return .appNotEvaluated
        }
        guard let package = integrity?["packageName"]?.string, let app = registered(package),
            let asked = request?["requestPackageName"]?.string, asked.hasSameBytes(as: package)
        else { return .packageMismatch }
        guard !app.signers.isEmpty else { return nil }
        let digests = (integrity?["certificateSha256Digest"]?.array ?? []).compactMap { $0.string }
        let isKnown = digests.contains { text in
            app.signers.contains { $0.bytes == Self.digest(text) }
        }
        return isKnown ? nil : .signingCertificateMismatch
    }

    private static func digest(_ text: String) -> [UInt8]? {
        do {
            return try Base64.decode(text, alphabet: .either, padding: .optional, limit: 64)
        } catch {
            return nil
        }
    }

    private func deviceFinding(_ integrity: JSONValue?) -> Finding? {
        let words = Set((integrity?["deviceRecognitionVerdict"]?.array ?? []).compactMap { $0.string })
        if words.contains("MEETS_VIRTUAL_INTEGRITY") { return Finding(trust: .fail, reason: .deviceEmulator) }
        if words.contains("MEETS_DEVICE_INTEGRITY") || words.contains("MEETS_STRONG_INTEGRITY") { return nil }
        if words.contains("MEETS_BASIC_INTEGRITY") { return Finding(trust: .degraded, reason: .deviceNotTrusted) }
        return Finding(trust: .fail, reason: .deviceNotTrusted)
    }
}
