// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import HTTP
import Store
import Transport

/// Who calls an endpoint of dialect vouch: an app, by one of its keys.
struct VouchCaller: Sendable {
    let app: App
    /// Whether the key is of the live kind.
    let isLive: Bool
    /// Who the history says did it: the key's id, safe to show.
    let name: String

    /// Why there is no caller.
    enum Fault: Error {
        /// No key, an unknown one, one of the other kind: not told apart.
        case invalidKey
        case unavailable
    }

    /// The caller with a key of `kind` in `Authorization`.
    @Reactor
    init(_ request: LocalRequest, _ kind: VouchKeyKind, _ worker: Worker) async throws(Fault) {
        guard let text = Self.bearer(request), let key = VouchKeyText(parsing: text), key.kind == kind else {
            throw .invalidKey
        }
        let app: App
        switch await worker.state.app(key: key.id) {
        case .unavailable: throw .unavailable
        case .unknown: throw .invalidKey
        case .found(let found): app = found
        }
        guard app.isEnabled, !app.record.isRevoked, app.record.dialects.contains(.vouch),
            app.vouchKey(text, key, with: worker.state.peppers) != nil
        else { throw .invalidKey }
        let client = request.client
        worker.state.keyUses.note(key.id) { client.noteworthyNetwork }
        self.app = app
        isLive = key.isLive
        name = key.id.rawValue
    }

    private static func bearer(_ request: LocalRequest) -> String? {
        let values = request.values(.authorization)
        return values.count == 1 ? BearerField.token(authorization: values[0]) : nil
    }
}

extension WorkerState {
    /// The app of a key id.
    func app(key: APIKeyID) async -> AppFinding {
        if case .known(let app) = directory.app(key: key.rawValue.utf8.span) { return .found(app) }
        return AppFinding(await directory.load(key: key.rawValue))
    }
}

extension LocalOutcome {
    /// An error of dialect vouch that is no verdict (dialects.md B.2).
    static func vouch(_ status: Int, _ code: String, _ sentence: String, app: App? = nil) -> LocalOutcome {
        let extra = status == 401 ? [HeaderField(name: "www-authenticate", value: "Bearer realm=\"sallyport\"")] : []
        let body = VouchAnswers.body(RefusalWords(code: code, sentence: sentence))
        return .answer(.json(status, body, extra: extra), app: app, reason: code)
    }

    static func vouch(_ fault: VouchCaller.Fault) -> LocalOutcome {
        switch fault {
        case .invalidKey:
            .vouch(
                401,
                "invalid_key",
                "The key is unknown or revoked. To make one: sallyport keys create --name <name> --kind sdk"
            )
        case .unavailable: .refused(.stateAway)
        }
    }

    static func vouch(_ fault: VouchFault, app: App) -> LocalOutcome {
        .vouch(400, "invalid_request", fault.sentence, app: app)
    }

    static func vouchNotFound(app: App) -> LocalOutcome {
        .vouch(404, "not_found", "No such app or device.", app: app)
    }
}

extension FormBody {
    /// The body of a call of dialect vouch; one without a type is taken for JSON, as the SDK's examples send it.
    init(vouch request: LocalRequest, isOptional: Bool = false) throws(VouchBodyFault) {
        do throws(FormFault) {
            if request.value(.contentType) != nil || request.value(.contentEncoding) != nil {
                try self.init(request)
            } else {
                try self.init(isOptional && request.body.isEmpty ? Array("{}".utf8) : request.body)
            }
        } catch {
            switch error {
            case .mediaType: throw .mediaType
            case .notJSON, .notAnObject, .field: throw .form(VouchFault("The body is not one JSON object."))
            }
        }
    }
}

/// Why a body is not read.
enum VouchBodyFault: Error, Equatable {
    case mediaType
    case form(VouchFault)

    func outcome(app: App) -> LocalOutcome {
        switch self {
        case .mediaType: .refused(Refusal(.unsupportedMediaType, appID: app.appID), app: app)
        case .form(let fault): .vouch(fault, app: app)
        }
    }
}
