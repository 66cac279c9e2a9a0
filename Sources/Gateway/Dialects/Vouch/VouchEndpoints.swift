// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import HTTP
import Transport

/// The endpoints of dialect `vouch` (dialects.md B).
enum VouchEndpoints {
    static let all: [LocalEndpoint] =
        [
            sdk("POST", "/v1/sdk/attest/nonce", mostBytes: 4_096, nonce),
            // An attestation takes 8 KiB in base64, a Play token 4.
            sdk("POST", "/v1/sdk/attest", mostBytes: 65_536, attest),
        ] + VouchManagement.all

    /// Apps are native: no page calls these.
    private static func sdk(
        _ method: String,
        _ path: PathPattern,
        mostBytes: Int,
        _ answer: @escaping @Reactor @Sendable (LocalRequest, VouchCaller, Worker) async -> LocalOutcome
    ) -> LocalEndpoint {
        LocalEndpoint(.vouch, method, path, mostBytes: mostBytes, isBrowserFacing: false) { request, worker in
            do throws(VouchCaller.Fault) {
                return await answer(request, try await VouchCaller(request, .sdk, worker), worker)
            } catch {
                return .vouch(error)
            }
        }
    }

    /// 32 bytes are 43 characters, as the nonces that Play Integrity takes.
    private static let nonceBytes = 32

    @Reactor
    private static func nonce(_ request: LocalRequest, _ caller: VouchCaller, _ worker: Worker) async -> LocalOutcome {
        do throws(VouchBodyFault) {
            _ = try FormBody(vouch: request, isOptional: true)
        } catch {
            return error.outcome(app: caller.app)
        }
        do {
            let (text, expiresAt) = try await worker.signIn.challenge(
                for: caller.app,
                in: .vouch,
                isTest: !caller.isLive,
                network: request.client.network,
                bytes: nonceBytes,
                lifetime: .seconds(caller.app.record.vouchSettings.nonceLife)
            )
            var json = JSONWriter(capacity: 128)
            json.beginObject()
            json.member("nonce", text)
            json.member("expires_at", InternetTime.text(seconds: expiresAt / 1_000))
            json.endObject()
            return .answer(.json(200, json.bytes), app: caller.app)
        } catch {
            return .refused(.stateAway, app: caller.app)
        }
    }

    @Reactor
    private static func attest(_ request: LocalRequest, _ caller: VouchCaller, _ worker: Worker) async -> LocalOutcome {
        let form: VouchForm
        do throws(VouchBodyFault) {
            let body = try FormBody(vouch: request)
            do throws(VouchFault) {
                form = try VouchForm(body)
            } catch {
                return .vouch(error, app: caller.app)
            }
        } catch {
            return error.outcome(app: caller.app)
        }
        do {
            return try await VouchExchange(caller, form, worker, now: request.now).run()
        } catch {
            return .refused(.stateAway, app: caller.app)
        }
    }
}
