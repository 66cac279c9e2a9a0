// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Encodings
import HTTP
import Store
import Transport

/// The endpoints of dialect `offlineid` (dialects.md A.1, A.2); its sign-ins are routes of the upstream.
enum OfflineEndpoints {
    static let all: [LocalEndpoint] = [
        LocalEndpoint(
            .offlineid,
            "POST",
            "/users/attestation/challenge",
            mostBytes: SignInBody.mostBytes,
            isBrowserFacing: true,
            answer: challenge
        ),
        LocalEndpoint(
            .offlineid,
            "POST",
            "/users/attestation/ios/register",
            mostBytes: SignInBody.mostBytes,
            isBrowserFacing: true,
            answer: register
        ),
    ]

    /// 16 bytes are 22 characters: 128 bits (OFF-025).
    private static let challengeBytes = 16
    private static let challengeLife = Duration.seconds(300)

    @Reactor
    private static func challenge(_ request: LocalRequest, _ worker: Worker) async -> LocalOutcome {
        let app: App
        switch await find(request, worker) {
        case .success(let found): app = found
        case .failure(let fault): return .refused(fault.refusal)
        }
        // Nothing is read of the body, but what is no JSON is not let by.
        if !request.body.isEmpty {
            do {
                _ = try FormBody(request)
            } catch {
                return .refused(.form(error, appID: app.appID), app: app)
            }
        }
        do {
            let (text, expiresAt) = try await worker.signIn.challenge(
                for: app,
                in: .offlineid,
                network: request.client.network,
                bytes: challengeBytes,
                lifetime: challengeLife
            )
            return .answer(.json(200, OfflineSuccess.challenge(text, expiresAt: expiresAt)), app: app)
        } catch {
            return .refused(.stateAway, app: app)
        }
    }

    @Reactor
    private static func register(_ request: LocalRequest, _ worker: Worker) async -> LocalOutcome {
        let app: App
        switch await find(request, worker) {
        case .success(let found): app = found
        case .failure(let fault): return .refused(fault.refusal)
        }
        let form: RegistrationForm
        do {
            form = try RegistrationForm(FormBody(request))
        } catch {
            return .refused(.form(error, appID: app.appID), app: app)
        }
        let policy = SignInPolicy(app, minimumTrust: nil, now: request.now)
        guard policy.hasAppleApp else { return .refused(.attestationNotConfigured(.ios, policy), app: app) }
        do {
            return try await registered(form, app, policy, request, worker)
        } catch {
            return .refused(.stateAway, app: app)
        }
    }

    @Reactor
    private static func registered(
        _ form: RegistrationForm,
        _ app: App,
        _ policy: SignInPolicy,
        _ request: LocalRequest,
        _ worker: Worker
    ) async throws(SignInFailure) -> LocalOutcome {
        func refused(_ reason: AttestationReason) -> LocalOutcome {
            .refused(.attestationFailed(reason, on: .ios, policy), app: app)
        }
        guard try await worker.signIn.take(form.challenge, for: app, in: .offlineid) else {
            return refused(.challengeInvalid)
        }
        let verdict = try await worker.signIn.verdict(
            on: .appleAttestation(keyID: form.keyID, object: form.attestation),
            over: ProofBinding(challenge: form.challenge, appID: app.appID.rawValue, purpose: .register),
            for: app,
            in: .offlineid,
            now: request.now
        )
        guard verdict.trust != nil, let name = verdict.deviceKey else { return refused(verdict.reason ?? .malformed) }
        let environment = try await worker.signIn.environment(of: name, app: app, in: .offlineid)
        return .answer(.json(200, OfflineSuccess.registered(form.keyID, environment)), app: app)
    }

    /// Why no app is found.
    private struct Fault: Error {
        let refusal: Refusal
    }

    /// The app that `X-App-Id` names, enabled and of this dialect (OFF-011, OFF-117).
    @Reactor
    private static func find(_ request: LocalRequest, _ worker: Worker) async -> Result<App, Fault> {
        let names = request.values(.xAppID)
        guard names.count <= 1 else { return .failure(Fault(refusal: Refusal(.ambiguousCredentials))) }
        guard let name = names.first, AppID.isWellFormed(name.utf8.span) else {
            return .failure(Fault(refusal: .unknownApp(in: .offlineid)))
        }
        let id = AppID(rawValue: name)
        switch await worker.state.app(id: name) {
        case .unavailable: return .failure(Fault(refusal: .stateAway))
        case .unknown: return .failure(Fault(refusal: .unknownApp(in: .offlineid, named: id)))
        case .found(let app):
            guard app.isEnabled, !app.record.isRevoked, app.record.dialects.contains(.offlineid) else {
                return .failure(Fault(refusal: .unknownApp(in: .offlineid, named: id)))
            }
            return .success(app)
        }
    }
}

/// The body of a registration (A.2).
struct RegistrationForm: Equatable, Sendable {
    let keyID: String
    let attestation: String
    let challenge: String

    init(_ form: FormBody) throws(FormFault) {
        keyID = try form.text("keyId")
        attestation = try form.text("attestation")
        challenge = try form.text("challenge")
    }
}

/// The success bodies of the gateway's own endpoints (A.1, A.2).
enum OfflineSuccess {
    static func challenge(_ text: String, expiresAt: Int64) -> [UInt8] {
        body { json in
            json.member("challenge", text)
            json.member("expires_at", InternetTime.text(seconds: expiresAt / 1_000))
        }
    }

    static func registered(_ keyID: String, _ environment: AppAttestEnvironment) -> [UInt8] {
        body { json in
            json.member("keyId", keyID)
            json.member("environment", environment.rawValue)
        }
    }

    private static func body(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter(capacity: 192)
        json.beginObject()
        json.member("message", "OK")
        json.name("data")
        json.beginObject()
        write(&json)
        json.endObject()
        json.endObject()
        return json.bytes
    }
}
