// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Encodings
import HTTP
import Store
import Transport

/// Judges one call of `POST /profile/app/attest`, in the order of open question 29.
///
/// Isolated to the Reactor.
@Reactor
struct AppEngineSignIn {
    typealias Reason = AppEngineRefusal.Reason

    /// What came of it: what a token may say, or why there is none.
    enum Outcome {
        case success(AppGrant)
        case failure(Reason)
    }

    let app: App
    let request: LocalRequest
    let worker: Worker

    /// What becomes of a form.
    func outcome(of form: AppEngineForm) async throws(SignInFailure) -> Outcome {
        guard !app.record.isRevoked, app.isEnabled else { return .failure(.revoked) }
        if case .web(let domain) = form { return web(domain) }
        guard app.record.check != .off else { return .failure(.checkOff) }
        switch form {
        case .web(let domain): return web(domain)
        case .ios(let nonce, let part): return try await ios(nonce, part)
        case .android(let nonce, let token): return try await android(nonce, token)
        case .debug(let nonce, let token): return try await debug(nonce, token)
        }
    }

    // MARK: Pages

    /// The check does not matter, and no challenge is taken (APP-017, APP-058).
    private func web(_ domain: String?) -> Outcome {
        let origins = request.values(.origin)
        // Several fields, or an empty one, name no host at all (APP-047, APP-048).
        let origin = origins.isEmpty ? nil : origins.count == 1 ? origins[0] : ""
        switch app.judge(domain: domain, origin: origin) {
        case .allowed:
            return .success(
                AppGrant(kind: .webToken, authentication: .origin, method: "web-domain", platform: "web", counted: .web)
            )
        case .notConfigured: return .failure(.webNotConfigured)
        case .notAllowed: return .failure(.domainNotAllowed)
        case .originMismatch: return .failure(.originMismatch)
        }
    }

    // MARK: iPhones

    private func ios(_ nonce: String, _ part: AppEngineForm.ApplePart?) async throws(SignInFailure) -> Outcome {
        guard !app.record.native.ios.isEmpty else { return .failure(.iosNotConfigured) }
        guard let part else { return .failure(.proofMissing) }
        guard try await take(nonce) else { return .failure(.nonceInvalid) }
        let proof: Proof
        let method: String
        let keyID: String
        switch part {
        case .attestation(let key, let object):
            (proof, method, keyID) = (.appleAttestation(keyID: key, object: object), "app-attest", key)
            guard Self.isVerbatim(key) else { return .failure(.attestationInvalid) }
        case .assertion(let key, let object):
            (proof, method, keyID) = (.appleAssertion(keyID: key, object: object), "app-assert", key)
            guard Self.isVerbatim(key) else { return .failure(.unknownKey) }
        }
        let verdict = try await verdict(on: proof, nonce)
        guard let trust = verdict.trust else {
            return .failure(Reason(verdict.reason ?? .malformed, on: .ios) ?? .attestationInvalid)
        }
        return .success(
            AppGrant(
                kind: .appToken,
                trust: trust,
                method: method,
                platform: "ios",
                keyID: keyID,
                counted: .ios
            )
        )
    }

    /// Whether a key id is as `generateKey` wrote it: the base64 of 32 bytes, and no other spelling (APP-019).
    private static func isVerbatim(_ keyID: String) -> Bool {
        do {
            let bytes = try Base64.decode(keyID)
            return bytes.count == 32 && Base64.encode(bytes) == keyID
        } catch {
            return false
        }
    }

    // MARK: Androids

    private func android(_ nonce: String, _ token: String?) async throws(SignInFailure) -> Outcome {
        // Both keys and a package: Google is never asked here (APP-028).
        guard !app.record.native.android.isEmpty, app.record.playKeys != nil || app.record.labTrust?.playKeys != nil
        else { return .failure(.androidNotConfigured) }
        guard let token else { return .failure(.proofMissing) }
        guard try await take(nonce) else { return .failure(.nonceInvalid) }
        let verdict = try await verdict(on: .playToken(token), nonce)
        let words = verdict.reasons.compactMap { Reason($0, on: .android) }
        guard let trust = verdict.trust else { return .failure(words.first ?? .badSignature) }
        // What other dialects degrade is refused; what this one does not ask for has no word.
        if verdict.isDegraded, let first = words.first { return .failure(first) }
        return .success(
            AppGrant(
                kind: .appToken,
                trust: trust == .degraded ? .hardware : trust,
                method: "play-integrity",
                platform: "android",
                counted: .android
            )
        )
    }

    // MARK: Simulators

    private func debug(_ nonce: String, _ token: String?) async throws(SignInFailure) -> Outcome {
        guard app.record.allowsDebugTokens else { return .failure(.debugNotAllowed) }
        guard let token else { return .failure(.proofMissing) }
        guard try await take(nonce) else { return .failure(.nonceInvalid) }
        for record in app.record.debugTokens {
            guard let secret = CompiledSecret(record.secret),
                worker.state.peppers.matches(secret, .debugToken, message: Array(token.utf8).span)
            else { continue }
            worker.state.keyUses.note(APIKeyID(rawValue: record.id)) { request.client.noteworthyNetwork }
            worker.state.renewal.presented(Array(token.utf8), .debugToken(record.id), of: app)
            return .success(
                AppGrant(
                    kind: .debugToken,
                    authentication: .debugToken,
                    method: "debug-token",
                    platform: "debug",
                    counted: .debug
                )
            )
        }
        return .failure(.debugTokenInvalid)
    }

    // MARK: What the forms share

    private func take(_ nonce: String) async throws(SignInFailure) -> Bool {
        try await worker.signIn.take(nonce, for: app, in: .appengine)
    }

    /// The nonce is hashed as the text it is (APP-018).
    private func verdict(on proof: Proof, _ nonce: String) async throws(SignInFailure) -> ProofVerdict {
        try await worker.signIn.verdict(
            on: proof,
            over: ProofBinding(nonce: nonce),
            for: app,
            in: .appengine,
            now: request.now
        )
    }
}
