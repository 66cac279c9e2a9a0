// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Encodings

/// A refusal of the sign-in endpoints of dialect C (requirements 13.3).
///
/// One table of words, so that the proposed ones can be renamed in one place.
struct AppEngineRefusal: Equatable, Sendable {
    let code: String
    var reason: String?
    let status: Int
    let sentence: String

    /// 404: the app is none of this organization; another organization's is told no better (APP-015).
    static let appNotFound = AppEngineRefusal(
        code: "APP_NOT_FOUND",
        status: 404,
        sentence: "No app in this organization"
    )
    /// 401: the app is revoked, and its secret with it.
    static let appRevoked = AppEngineRefusal(
        code: "app_revoked",
        status: 401,
        sentence: "This app is revoked. Create another: a revoked one stays so."
    )
    /// 401: another secret.
    static let wrongSecret = AppEngineRefusal(
        code: "app_key_failed",
        status: 401,
        sentence: "The app's secret is not right. To make a new one: sallyport secret rotate"
    )
    /// 401: the check is Enforce.
    static let secretNotTaken = AppEngineRefusal(
        code: "attestation_required",
        status: 401,
        sentence: "This app signs in with a device check only."
    )
    /// 400: the field `orgid` did not come.
    static let missingOrganization = AppEngineRefusal(
        code: "missing_orgid",
        status: 400,
        sentence: "The orgid header is required."
    )
    /// 503: the state that is needed is away.
    static let away = AppEngineRefusal(
        code: "state_unavailable",
        status: 503,
        sentence: "The request cannot be judged at the moment. Try again after the seconds of Retry-After."
    )

    /// 400: the form of the request.
    static func form(_ sentence: String) -> AppEngineRefusal {
        AppEngineRefusal(code: "bad_request", status: 400, sentence: sentence)
    }

    /// 400 or 415: the body is not the form that the endpoint takes.
    init(_ fault: FormFault) {
        switch fault {
        case .mediaType:
            self.init(
                code: "unsupported_media_type",
                status: 415,
                sentence: "The body must be application/json in UTF-8, without a content coding."
            )
        case .notJSON, .notAnObject: self = .form("The body must be one JSON object.")
        case .field(let name): self = .form("\(name) is required.")
        }
    }

    /// 401: the sign-in of an app is refused for `reason` (APP-097).
    static func attestation(_ reason: Reason) -> AppEngineRefusal {
        AppEngineRefusal(
            code: "app_attestation_failed",
            reason: reason.rawValue,
            status: 401,
            sentence: "\(reason.sentence) \(reason.mending)"
        )
    }

    init(code: String, reason: String? = nil, status: Int, sentence: String) {
        self.code = code
        self.reason = reason
        self.status = status
        self.sentence = sentence
    }

    /// The reasons of `app_attestation_failed`; clients branch on them (APP-098).
    enum Reason: String, Sendable, CaseIterable {
        case nonceMismatch = "nonce_mismatch"
        case unknownKey = "unknown_key"
        case badSignature = "bad_signature"
        case counterNotIncreasing = "counter_not_increasing"
        case deviceBlocked = "device_blocked"
        case revoked
        case webNotConfigured = "web_not_configured"
        case domainNotAllowed = "domain_not_allowed"
        case originMismatch = "origin_mismatch"
        case debugNotAllowed = "debug_not_allowed"
        case nonceInvalid = "nonce_invalid"
        case iosNotConfigured = "ios_not_configured"
        case androidNotConfigured = "android_not_configured"
        case appMismatch = "app_mismatch"
        case packageMismatch = "package_mismatch"
        case certificateMismatch = "certificate_mismatch"
        case tokenTooOld = "token_too_old"
        case appNotRecognized = "app_not_recognized"
        case deviceIntegrity = "device_integrity"
        case attestationInvalid = "attestation_invalid"
        case debugTokenInvalid = "debug_token_invalid"
        case checkOff = "check_off"
        case proofMissing = "proof_missing"

        /// What a verifier's reason is called here; nil where the dialect does not ask for it.
        init?(_ reason: AttestationReason, on platform: AttestationReason.Platform) {
            guard let word = reason.appEngineWord(on: platform) else { return nil }
            guard let known = Reason(rawValue: word) else {
                preconditionFailure("\(word) is no reason of dialect C")
            }
            self = known
        }

        var sentence: String {
            switch self {
            case .nonceMismatch: "The attestation was not made for this challenge."
            case .unknownKey: "This install's key is not known."
            case .badSignature: "The signature does not verify."
            case .counterNotIncreasing: "This assertion was used before."
            case .deviceBlocked: "This install is blocked."
            case .revoked: "This app is revoked."
            case .webNotConfigured: "This app has no allowed domains."
            case .domainNotAllowed: "This website is not on the app's list."
            case .originMismatch: "The page's origin is another website."
            case .debugNotAllowed: "Debug tokens are off for this app."
            case .nonceInvalid: "The challenge is unknown, expired or used."
            case .iosNotConfigured: "No iOS identity is saved for this app."
            case .androidNotConfigured: "No Android identity is saved for this app."
            case .appMismatch: "The statement names another iOS app."
            case .packageMismatch: "The statement names another Android app."
            case .certificateMismatch: "The app is signed with another certificate."
            case .tokenTooOld: "The integrity token is more than 5 minutes old."
            case .appNotRecognized: "Google Play does not recognize this app."
            case .deviceIntegrity: "The device does not meet device integrity."
            case .attestationInvalid: "The attestation cannot be verified."
            case .debugTokenInvalid: "This debug token is unknown."
            case .checkOff: "Device checks are off for this app."
            case .proofMissing: "The request carries no proof."
            }
        }

        /// What mends it, behind the sentence: the envelope has no place of its own for it.
        var mending: String {
            switch self {
            case .nonceMismatch, .nonceInvalid: "Request a new challenge for each attempt."
            case .unknownKey, .badSignature: "Make a new key and attest it."
            case .counterNotIncreasing: "Make one assertion for each challenge, or attest a new key."
            case .deviceBlocked: "To mend it: sallyport devices unblock <device>"
            case .revoked: "Create another app: a revoked one stays so."
            case .originMismatch: "Send the domain of the page itself."
            case .webNotConfigured, .domainNotAllowed: "To mend it: sallyport domains add <domain>"
            case .debugNotAllowed: "To mend it: sallyport debug-tokens allow on"
            case .iosNotConfigured, .appMismatch:
                "To mend it: sallyport identity set --ios-team <team id> --ios-bundle <bundle id>"
            case .androidNotConfigured, .packageMismatch, .certificateMismatch:
                "To mend it: sallyport identity set --android-package <package> --android-sha256 <certificate SHA-256>"
            case .tokenTooOld: "Request a new integrity token for each attempt."
            case .appNotRecognized: "Install the app from Google Play, or use a debug token."
            case .deviceIntegrity: "Use a device that Google Play certifies, or a debug token."
            case .attestationInvalid: "Make a new attestation for a new challenge."
            case .debugTokenInvalid: "To mend it: sallyport debug-tokens create --name <name>"
            case .checkOff: "To mend it: sallyport check monitor"
            case .proofMissing: "Send the proof that the platform's form names."
            }
        }
    }
}

extension AppEngineRefusal {
    /// The answer, in the envelope of C.0.
    func answer(to request: LocalRequest) -> LocalAnswer {
        var extra: [HeaderField] = []
        if status == 401 { extra.append(HeaderField(name: "www-authenticate", value: "Bearer realm=\"sallyport\"")) }
        if status == 503 { extra.append(HeaderField(name: "retry-after", value: "1")) }
        return .json(status, body(method: request.method, path: request.path, now: request.now), extra: extra)
    }

    /// The envelope's bytes.
    func body(method: String, path: String, now: Int64) -> [UInt8] {
        var json = JSONWriter(capacity: 256)
        json.beginObject()
        json.member("code", code)
        json.member("reason", reason)
        json.member("statusCode", status)
        json.member("error", sentence)
        json.member("path", path)
        json.member("method", method)
        json.member("timeStamp", InternetTime.text(milliseconds: now))
        json.endObject()
        return json.bytes
    }
}
