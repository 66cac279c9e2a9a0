// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import HTTP
import Store
import Transport

/// What a server may do with a `sk_` key, for the app that the key is of (VCH-024, VCH-025).
enum VouchManagement {
    static let all: [LocalEndpoint] = [
        endpoint("POST", "/v1/apps/{app}/security/devices/{device}/revoke", revoke),
        endpoint("GET", "/v1/apps/{app}/security/devices", listDevices),
        endpoint("POST", "/v1/apps/{app}/security/debug-devices", addDebugDevice),
        endpoint("GET", "/v1/apps/{app}/security/debug-devices", listDebugDevices),
        endpoint("DELETE", "/v1/apps/{app}/security/debug-devices/{device}", removeDebugDevice),
        endpoint("POST", "/v1/apps/{app}/security/run-tokens/verify", verify),
    ]

    private typealias Call =
        @Reactor @Sendable (LocalRequest, VouchCaller, Worker) async throws(VouchCall) ->
        LocalAnswer

    /// Why a call has no answer of its own.
    enum VouchCall: Error {
        case outcome(LocalOutcome)
        case away
    }

    /// Changes that an app's servers may make in an hour: each is a row of its history, a sync of the disk and news for
    /// every worker, so that one tenant's loop would be felt by all.
    private static let changesAnHour = CapRule(name: "management", limit: 1_000)

    /// Counts a change; throws where the app has made too many.
    @Reactor
    static func spend(
        _ request: LocalRequest,
        _ caller: VouchCaller,
        _ worker: Worker
    ) async throws(VouchCall) {
        let outcome: CapOutcome
        do {
            outcome = try await worker.state.caps
                .reserve(request.decision, under: [changesAnHour], app: caller.app.recordID)
        } catch {
            throw .away
        }
        guard case .full(_, let wait) = outcome else { return }
        let refusal = Refusal(.rateLimited, appID: caller.app.appID, retryAfter: wait)
        throw .outcome(.refused(refusal, app: caller.app))
    }

    private static func endpoint(_ method: String, _ path: PathPattern, _ call: @escaping Call) -> LocalEndpoint {
        LocalEndpoint(.vouch, method, path, mostBytes: 4_096, isBrowserFacing: false, isLimited: false) {
            request,
            worker in
            let caller: VouchCaller
            do throws(VouchCaller.Fault) {
                caller = try await VouchCaller(request, .management, worker)
            } catch {
                return .vouch(error)
            }
            // Another app of the same organization is as unknown as anybody's: a key is one app's.
            guard request.parameters["app"] == caller.app.appID.rawValue else { return .vouchNotFound(app: caller.app) }
            do throws(VouchCall) {
                return .answer(try await call(request, caller, worker), app: caller.app)
            } catch {
                switch error {
                case .outcome(let outcome): return outcome
                case .away: return .refused(.stateAway, app: caller.app)
                }
            }
        }
    }

    @Reactor
    private static func revoke(
        _ request: LocalRequest,
        _ caller: VouchCaller,
        _ worker: Worker
    ) async throws(VouchCall) -> LocalAnswer {
        try await spend(request, caller, worker)
        let device = request.parameters["device"] ?? ""
        let revocation = DeviceRevocation(registry: worker.state.registry, tokens: worker.state.runTokenStore)
        let outcome = try await registered { () async throws(RegistryError) in
            try await revocation.run(device, isLive: caller.isLive, of: caller.app.record, by: caller.name)
        }
        guard let outcome else { throw .outcome(.vouchNotFound(app: caller.app)) }
        return .json(200, body(device, outcome.confirmation) { $0.member("revoked", outcome.count) })
    }

    @Reactor
    private static func listDevices(
        _ request: LocalRequest,
        _ caller: VouchCaller,
        _ worker: Worker
    ) async throws(VouchCall) -> LocalAnswer {
        let devices: [(id: String, seenAt: Int64)]
        do {
            devices = try await worker.state.verdicts
                .devices(of: caller.app.recordID, isLive: caller.isLive, limit: 1_000)
        } catch {
            throw .away
        }
        return list("devices", devices.map { ($0.id, "seen_at", $0.seenAt) })
    }

    /// Whether a run token is good for these values, asked by the app's own back end (VCH-041).
    ///
    /// Always asked of the store: an answer from memory could be one revocation too old on another node.
    @Reactor
    private static func verify(
        _ request: LocalRequest,
        _ caller: VouchCaller,
        _ worker: Worker
    ) async throws(VouchCall) -> LocalAnswer {
        let body = try form(request, caller.app)
        let question = try reading(caller.app) { () throws(VouchFault) in try RunTokenQuestion(body) }
        let token = Array(question.token.utf8)
        guard let text = RunTokenText(parsing: token), text.app == caller.app.recordID else { return inactive }
        let found: RunTokenRecord?
        do {
            let hashes = worker.state.peppers.hashes(token.span, .runToken).map(\.hash)
            found = try await worker.state.runTokenStore.record(hashes, of: text.app)
        } catch {
            throw .away
        }
        guard let record = found, record.isLive == caller.isLive, RunTokenBinding(record) == question.binding,
            record.expiresAt > worker.state.clock.now,
            !worker.state.revocations.isRevoked(.device(text.app, record.watermark), issuedAt: record.issuedAt),
            !worker.state.revocations.isRevoked(.app(text.app), issuedAt: record.issuedAt)
        else { return inactive }
        var json = JSONWriter(capacity: 256)
        json.beginObject()
        json.member("active", true)
        json.member("device_id", record.device)
        json.member("app_version", record.version)
        json.member("platform", record.platform)
        json.member("verdict", record.verdict)
        json.member("debug", record.isDebug)
        json.member("expires_at", InternetTime.text(seconds: record.expiresAt / 1_000))
        json.endObject()
        return .json(200, json.bytes)
    }

    /// Unknown, expired, revoked or bound otherwise: not told apart.
    private static var inactive: LocalAnswer { .json(200, Array(#"{"active":false}"#.utf8)) }

    static func form(_ request: LocalRequest, _ app: App) throws(VouchCall) -> FormBody {
        do {
            return try FormBody(vouch: request)
        } catch {
            throw .outcome(error.outcome(app: app))
        }
    }

    static func reading<Value>(
        _ app: App,
        _ read: () throws(VouchFault) -> Value
    ) throws(VouchCall) -> Value {
        do {
            return try read()
        } catch {
            throw .outcome(.vouch(error, app: app))
        }
    }

    /// A body about one device; where not every worker has applied the change, by when it is in force.
    static func body(
        _ device: String,
        _ change: Confirmation?,
        _ members: (inout JSONWriter) -> Void = { _ in }
    ) -> [UInt8] {
        var json = JSONWriter(capacity: 128)
        json.beginObject()
        json.member("device_id", device)
        members(&json)
        if case .pending(let effectiveBy, _) = change {
            json.member("confirmed", false)
            json.member("effective_by", InternetTime.text(seconds: effectiveBy / 1_000))
        }
        json.endObject()
        return json.bytes
    }

    static func list(_ name: String, _ rows: [(id: String, time: String, at: Int64)]) -> LocalAnswer {
        var json = JSONWriter(capacity: 1_024)
        json.beginObject()
        json.name(name)
        json.beginArray()
        for row in rows {
            json.beginObject()
            json.member("device_id", row.id)
            json.member(row.time, InternetTime.text(seconds: row.at / 1_000))
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return .json(200, json.bytes)
    }

    @Reactor
    static func registered<Value: Sendable>(
        _ call: () async throws(RegistryError) -> Value
    ) async throws(VouchCall) -> Value {
        do {
            return try await call()
        } catch {
            if case .rejected(let code, let message) = error { throw .outcome(.vouch(409, code, message)) }
            throw .away
        }
    }
}

/// The body of `run-tokens/verify` (B.5).
private struct RunTokenQuestion {
    let token: String
    let binding: RunTokenBinding

    init(_ form: FormBody) throws(VouchFault) {
        token = try form.required("run_token")
        binding = RunTokenBinding(
            device: try form.required("device_id"),
            version: try form.required("app_version"),
            platform: try form.required("platform")
        )
    }
}
