// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import HTTP
import Store
import Transport

/// The endpoints of dialect `appengine` (dialects.md C.1 to C.3); a guest's sign-in is a route of the upstream.
enum AppEngineEndpoints {
    static let all: [LocalEndpoint] = [
        LocalEndpoint(
            .appengine,
            "POST",
            "/profile/app/challenge",
            mostBytes: SignInBody.mostBytes,
            isBrowserFacing: true,
            answer: challenge
        ),
        LocalEndpoint(
            .appengine,
            "POST",
            "/profile/app/attest",
            mostBytes: SignInBody.mostBytes,
            isBrowserFacing: true,
            answer: attest
        ),
        LocalEndpoint(
            .appengine,
            "POST",
            "/profile/app/key",
            mostBytes: SignInBody.mostBytes,
            isBrowserFacing: false,
            answer: key
        ),
    ]

    /// 32 bytes are 43 characters (APP-012).
    private static let nonceBytes = 32
    private static let nonceLife = Duration.seconds(120)

    /// A nonce; a revoked app gets one too, and hears of it when it attests (APP-089).
    @Reactor
    private static func challenge(_ request: LocalRequest, _ worker: Worker) async -> LocalOutcome {
        do {
            let (app, _) = try await open(request, worker)
            do {
                let (nonce, expiresAt) = try await worker.signIn.challenge(
                    for: app,
                    in: .appengine,
                    network: request.client.network,
                    bytes: nonceBytes,
                    lifetime: nonceLife
                )
                return .answer(.json(200, AppEngineSuccess.challenge(nonce, expiresAt: expiresAt)), app: app)
            } catch {
                return refused(.away, request, app)
            }
        } catch {
            return refused(error, request, nil)
        }
    }

    @Reactor
    private static func attest(_ request: LocalRequest, _ worker: Worker) async -> LocalOutcome {
        let app: App
        let form: AppEngineForm
        do {
            let (found, body) = try await open(request, worker)
            app = found
            do throws(AppEngineFormFault) {
                form = try AppEngineForm(body)
            } catch {
                return refused(.form("platform must be one of ios, android, debug, web."), request, app)
            }
        } catch {
            return refused(error, request, nil)
        }
        do {
            switch try await AppEngineSignIn(app: app, request: request, worker: worker).outcome(of: form) {
            case .failure(let reason):
                worker.state.signInHistory.fail(form.platform, reason.rawValue, of: app.recordID, at: request.now)
                return refused(.attestation(reason), request, app)
            case .success(let grant):
                let token = try await worker.signIn.token(grant, for: app, in: .appengine)
                worker.state.signInHistory.count(grant.counted, of: app.recordID, at: request.now)
                return .answer(.json(200, AppEngineSuccess.token(token, platform: form.platform)), app: app)
            }
        } catch {
            return refused(.away, request, app)
        }
    }

    /// The secret of a server's app (APP-060, APP-061); `key` is ignored.
    @Reactor
    private static func key(_ request: LocalRequest, _ worker: Worker) async -> LocalOutcome {
        let app: App
        let secret: String?
        do {
            let (found, body) = try await open(request, worker)
            app = found
            secret = body["secret"]?.string
        } catch {
            return refused(error, request, nil)
        }
        func failed(_ refusal: AppEngineRefusal) -> LocalOutcome {
            worker.state.signInHistory.fail("secret", refusal.code, of: app.recordID, at: request.now)
            return refused(refusal, request, app)
        }
        guard !app.record.isRevoked, app.isEnabled else { return failed(.appRevoked) }
        guard app.record.check != .enforce else { return failed(.secretNotTaken) }
        guard let secret, let kept = app.record.secret.flatMap(CompiledSecret.init),
            worker.state.peppers.matches(kept, .appSecret, message: Array(secret.utf8).span)
        else { return failed(.wrongSecret) }
        worker.state.renewal.presented(Array(secret.utf8), .secret, of: app)
        do {
            let token = try await worker.signIn.token(.secret, for: app, in: .appengine)
            worker.state.signInHistory.count(.secret, of: app.recordID, at: request.now)
            return .answer(.json(200, AppEngineSuccess.token(token, platform: nil)), app: app)
        } catch {
            return refused(.away, request, app)
        }
    }

    /// Reads the body and finds the app that `appId` names in the organization of `orgid`, exactly (APP-002).
    @Reactor
    private static func open(
        _ request: LocalRequest,
        _ worker: Worker
    ) async throws(AppEngineRefusal) -> (App, FormBody) {
        let organizations = request.values(.orgID)
        guard organizations.count <= 1 else { throw .form("The orgid header came more than once.") }
        guard let organization = organizations.first, !organization.isEmpty else { throw .missingOrganization }
        let body: FormBody
        do {
            body = try FormBody(request)
        } catch {
            throw AppEngineRefusal(error)
        }
        guard let name = body["appId"]?.string, !name.isEmpty else { throw .form("appId is required.") }
        // Longer than any name of ours: not worth a look-up.
        guard organization.utf8.count <= 63, name.utf8.count <= 63 else { throw .appNotFound }
        switch await worker.state.app(organization: organization, name: name) {
        case .unavailable: throw .away
        case .unknown: throw .appNotFound
        case .found(let app):
            guard app.record.dialects.contains(.appengine) else { throw .appNotFound }
            return (app, body)
        }
    }

    @Reactor
    private static func refused(_ refusal: AppEngineRefusal, _ request: LocalRequest, _ app: App?) -> LocalOutcome {
        .answer(refusal.answer(to: request), app: app, reason: refusal.reason ?? refusal.code)
    }
}

extension AppEngineRefusal: Error {}

/// The success bodies of dialect C.
enum AppEngineSuccess {
    static func challenge(_ nonce: String, expiresAt: Int64) -> [UInt8] {
        var json = JSONWriter(capacity: 128)
        json.beginObject()
        json.member("nonce", nonce)
        json.member("expiresAt", InternetTime.text(milliseconds: expiresAt))
        json.endObject()
        return json.bytes
    }

    static func token(_ token: MintedToken, platform: String?) -> [UInt8] {
        var json = JSONWriter(capacity: 1_024)
        json.beginObject()
        json.member("token", token.text)
        json.member("expiresIn", token.seconds)
        json.member("platform", platform)
        json.endObject()
        return json.bytes
    }
}
