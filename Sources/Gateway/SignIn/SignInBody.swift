// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings

/// Which of a route's sign-in paths a request is for.
enum SignInEndpoint: String, Sendable, CaseIterable {
    case sendCode = "send_code"
    case verify, guest, refresh

    /// Whether a 2xx of it is a completed sign-in, which the caps count.
    var completesSignIn: Bool {
        switch self {
        case .verify, .guest: true
        case .sendCode, .refresh: false
        }
    }

    /// Whether its answer holds a token.
    var yieldsToken: Bool { self != .sendCode }
}

extension Dialect {
    /// What a route of the dialect may name under `sign_in`: persons sign in in dialect A (requirements 13.1), guests
    /// alone in dialect C (open question 35), nobody in dialect B.
    var signInEndpoints: [SignInEndpoint] {
        switch self {
        case .offlineid: SignInEndpoint.allCases
        case .vouch: []
        case .appengine: [.guest]
        }
    }
}

/// What the gateway reads of a sign-in body; the very bytes are forwarded.
struct SignInBody: Equatable, Sendable {
    /// nil: the body carries none.
    let attestation: PresentedAttestation?
    /// Whether a code goes out as a text message: a phone number came, an e-mail address beside it or not.
    let asksForTextMessage: Bool
    /// `refresh_token`, where a session is renewed.
    let refreshToken: String?

    /// The longest body that is read (dialects.md: 64 KiB).
    static let mostBytes = 65_536

    init(attestation: PresentedAttestation?, asksForTextMessage: Bool, refreshToken: String?) {
        self.attestation = attestation
        self.asksForTextMessage = asksForTextMessage
        self.refreshToken = refreshToken
    }

    /// Reads a body of `application/json`, UTF-8, no name twice, at most 16 deep (open question 34).
    init(reading bytes: [UInt8], for endpoint: SignInEndpoint) throws(FormFault) {
        let form = try FormBody(bytes)
        let email = try form.optionalText("email")
        let phone = try form.optionalText("phone_number")
        if endpoint == .sendCode, email == nil, phone == nil { throw .field("email") }
        asksForTextMessage = endpoint == .sendCode && phone != nil
        attestation = PresentedAttestation(reading: form["attestation"])
        refreshToken = try form.optionalText("refresh_token")
    }
}

/// Why a body is not the form that an endpoint takes.
enum FormFault: Error, Equatable {
    /// Not JSON, or JSON that readers understand differently.
    case notJSON(String)
    case notAnObject
    /// A member is missing or of another type.
    case field(String)
    /// Not `application/json`, another charset than UTF-8, or a content coding.
    case mediaType

    init(_ error: JSONError) {
        switch error.code {
        case .duplicateName: self = .notJSON("duplicate_name")
        case .tooDeep: self = .notJSON("too_deep")
        case .tooManyValues, .tooLong: self = .notJSON("too_long")
        case .unexpectedEnd, .unexpectedByte, .illegalNumber, .illegalEscape, .illegalText, .trailingBytes:
            self = .notJSON("not_json")
        }
    }
}

/// Whether a body is plain `application/json`.
enum MediaTypeCheck {
    /// `contentType` and `contentEncoding` as they came; empty when they did not.
    static func isPlainJSON(contentType: String, contentEncoding: String) -> Bool {
        let coding = contentEncoding[...].withoutSurroundingSpaces.lowercased()
        guard coding.isEmpty || coding == "identity" else { return false }
        let parts = contentType.split(separator: ";", omittingEmptySubsequences: false)
            .map { $0.withoutSurroundingSpaces.lowercased() }
        guard parts.first == "application/json" else { return false }
        return parts.dropFirst().allSatisfy { $0.isEmpty || $0 == "charset=utf-8" || $0 == "charset=\"utf-8\"" }
    }
}
