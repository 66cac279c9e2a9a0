// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP
import Store
import Transport

/// Whether what a request was admitted on holds still.
enum CredentialStanding {
    /// Until then, milliseconds since 1970; `.max`: nothing ends it by itself.
    case holds(until: Int64)
    /// Revoked, or what it rests on is gone.
    case revoked
    /// The registry has to be asked first.
    case unresolved
    /// The registry is away.
    case unknown
}

extension WorkerState {
    /// Asks the registry and the revocations as they are now.
    func standing(_ exchange: Exchange) -> CredentialStanding {
        guard let admission = exchange.facts.admission, let route = exchange.facts.route,
            case .restricted(let rules) = route.settings.access
        else { return .holds(until: .max) }
        let app: App
        switch directory.app(record: admission.app.recordID.rawValue.utf8.span) {
        case .known(let known): app = known
        case .unknown, .broken: return .revoked
        case .unresolved: return .unresolved
        case .unavailable: return .unknown
        }
        guard app.isEnabled, !app.record.isRevoked, app.record.dialects.contains(route.settings.dialect),
            rules.organizations.allows(app.organization), holds(admission, app, exchange, route)
        else { return .revoked }
        var end = Int64.max
        for knowledge in [exchange.facts.token, exchange.facts.personToken] {
            guard case .good(let token) = knowledge else { continue }
            if isRevoked(token, app: app) { return .revoked }
            end = min(end, token.facts.expiresAt)
        }
        if admission.kind.needsDevelopmentMode(admission.trust) {
            guard app.isInDevelopment(now: clock.now) else { return .revoked }
            end = min(end, app.record.developmentUntil ?? .max)
        }
        return .holds(until: end)
    }

    private func holds(_ admission: Admission, _ app: App, _ exchange: Exchange, _ route: Route) -> Bool {
        switch admission.kind {
        case .apiKey: app.record.keys.contains { $0.id == admission.keyID }
        case .origin: exchange.request.hasOrigin(listedBy: app, in: route.settings.dialect)
        case .appToken, .webToken, .serverToken, .debugToken, .runToken, .sessionToken, .person: true
        }
    }
}

extension Exchange {
    /// Ends the exchange when its credential has ended; `revision` counts the changes that could have ended it.
    func checkStanding(_ revision: UInt64) {
        if facts.endingStream != nil { return endStream(insists: true) }
        let now = worker.state.clock.now
        if facts.openRevision != revision || facts.credentialEnd == nil {
            switch worker.state.standing(self) {
            case .holds(let end):
                facts.openRevision = revision
                // Sockets of one app would otherwise all come back at the same moment.
                facts.credentialEnd = end == .max ? .max : end + Int64.random(in: 0..<500)
            case .revoked:
                facts.endingStream = .revoked
                return endStream(insists: false)
            case .unresolved: return loadStanding()
            case .unknown: return
            }
        }
        guard let end = facts.credentialEnd, end <= now, endsWithCredential else { return }
        facts.endingStream = .expired
        endStream(insists: false)
    }

    /// A download that began in time is finished; what has no end of its own is not.
    private var endsWithCredential: Bool {
        stage == .relaying || response.isEventStream || request.isGRPC
    }

    /// The gateway stops: what is still under way when its time has passed is told so and ended.
    func goAway() {
        if facts.endingStream == nil { facts.endingStream = .goingAway }
        endStream(insists: true)
    }

    private func loadStanding() {
        guard let record = facts.admission?.app.recordID.rawValue else { return }
        let state = worker.state
        // The next look finds what was loaded.
        Task { @Reactor in _ = await state.directory.load(record: record) }
    }
}

/// Why an answer is broken off.
///
/// The words are those of the peer's close frame and of the access log.
enum StreamEnding: String {
    case revoked = "credential_revoked"
    case expired = "credential_expired"
    /// The gateway stops, and the time that it gave has passed.
    case goingAway = "going_away"

    /// The status of the close frame that a WebSocket gets.
    var closeCode: UInt16 {
        switch self {
        // Private use (RFC 6455 7.4.2), made like 401: the credential is good no more.
        case .revoked, .expired: 4401
        case .goingAway: 1001
        }
    }
}

extension ResponseHead {
    /// Whether the answer is a stream of events, which ends with its listener only.
    var isEventStream: Bool {
        guard let type = fields.first(.contentType) else { return false }
        return type.starts("text/event-stream")
    }
}
