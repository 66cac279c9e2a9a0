// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
import Synchronization
package import Telemetry

/// The metrics of one worker that belong to no route, found once at start.
///
/// Isolated to the worker's loop.
package final class WorkerMetrics {
    package let slot: MetricsSlot
    package let inFlight: Gauge
    package let receivedBytes: Counter
    package let sentBytes: Counter
    package let openConnections: Gauge
    package let openWebSockets: Gauge
    package let redisDuration: Histogram
    package let connections: Counter
    package let acceptPauses: Counter
    package let handshakesFull: Counter
    package let handshakesResumed: Counter
    package let handshakesFailed: Counter
    /// What depends on the protocol of client connections.
    package let wire: ConnectionMetrics
    package let upstreamRetries: Counter
    package let redisUp: Gauge
    /// Answers of sign-ins, by what became of them.
    package let signInsSpliced: Counter
    package let signInsUntouched: Counter
    /// Budgets asked for, by result.
    package let budgetAdmitted: Counter
    package let budgetLimited: Counter
    package let budgetShadow: Counter
    package let budgetUnavailable: Counter
    /// Registry look-ups by result.
    package let cacheHits: Counter
    package let cacheMisses: Counter
    package let cacheUnknown: Counter
    package let cacheBroken: Counter
    package let cacheUnavailable: Counter
    /// Checks of tokens' signatures by result.
    package let tokensGood: Counter
    package let tokensBad: Counter
    package let tokensDropped: Counter
    package let clockDifference: Gauge
    private let streamsRevoked: Counter
    private let streamsDrained: Counter
    private let streamsExpired: Counter

    private var parseErrors: [Int: Counter] = [:]
    private var refusals: [RefusalCode: Counter] = [:]
    /// Places in `appTable`.
    private var apps: [AppID: Int] = [:]
    private var appTable: [AppMetrics]
    /// Apps that get labels of their own; beyond it `_other`.
    ///
    /// A thousand apps are 6,000 lines of exposition at most.
    package static let appLimit = 300

    package init(slot: MetricsSlot) {
        self.slot = slot
        self.inFlight = slot.gauge(GatewayMetrics.inFlight)
        self.receivedBytes = slot.counter(GatewayMetrics.receivedBytes)
        self.sentBytes = slot.counter(GatewayMetrics.sentBytes)
        self.budgetAdmitted = slot.counter(GatewayMetrics.rateLimit, "result=\"admitted\"")
        self.budgetLimited = slot.counter(GatewayMetrics.rateLimit, "result=\"limited\"")
        self.budgetShadow = slot.counter(GatewayMetrics.rateLimit, "result=\"shadow\"")
        self.budgetUnavailable = slot.counter(GatewayMetrics.rateLimit, "result=\"unavailable\"")
        self.openConnections = slot.gauge(GatewayMetrics.openConnections)
        self.openWebSockets = slot.gauge(GatewayMetrics.openWebSockets)
        self.redisDuration = slot.histogram(GatewayMetrics.redisDuration)
        self.connections = slot.counter(GatewayMetrics.connections)
        self.acceptPauses = slot.counter(GatewayMetrics.acceptPauses)
        self.handshakesFull = slot.counter(GatewayMetrics.tlsHandshakes, "result=\"full\"")
        self.handshakesResumed = slot.counter(GatewayMetrics.tlsHandshakes, "result=\"resumed\"")
        self.handshakesFailed = slot.counter(GatewayMetrics.tlsHandshakes, "result=\"failed\"")
        self.wire = ConnectionMetrics(slot: slot)
        self.upstreamRetries = slot.counter(GatewayMetrics.upstreamRetries)
        self.redisUp = slot.gauge(GatewayMetrics.redisUp)
        self.signInsSpliced = slot.counter(GatewayMetrics.signInAnswers, "result=\"spliced\"")
        self.signInsUntouched = slot.counter(GatewayMetrics.signInAnswers, "result=\"untouched\"")
        self.cacheHits = slot.counter(GatewayMetrics.registryCache, "result=\"hit\"")
        self.cacheMisses = slot.counter(GatewayMetrics.registryCache, "result=\"miss\"")
        self.cacheUnknown = slot.counter(GatewayMetrics.registryCache, "result=\"unknown\"")
        self.cacheBroken = slot.counter(GatewayMetrics.registryCache, "result=\"broken\"")
        self.cacheUnavailable = slot.counter(GatewayMetrics.registryCache, "result=\"unavailable\"")
        self.tokensGood = slot.counter(GatewayMetrics.tokenChecks, "result=\"good\"")
        self.tokensBad = slot.counter(GatewayMetrics.tokenChecks, "result=\"bad\"")
        self.tokensDropped = slot.counter(GatewayMetrics.tokenChecks, "result=\"dropped\"")
        self.streamsDrained = slot.counter(GatewayMetrics.streamsEnded, "reason=\"going_away\"")
        self.streamsRevoked = slot.counter(GatewayMetrics.streamsEnded, "reason=\"revoked\"")
        self.streamsExpired = slot.counter(GatewayMetrics.streamsEnded, "reason=\"expired\"")
        self.clockDifference = slot.gauge(GatewayMetrics.clockDifference)
        self.appTable = [AppMetrics(organization: "_other", app: "_other", slot: slot)]
        for code in RefusalCode.allCases {
            refusals[code] = slot.counter(
                GatewayMetrics.decisions,
                "outcome=\"refused\",reason=\"\(code.rawValue)\",mode=\"enforce\""
            )
        }
    }

    /// Counts a judgement that let a request in.
    package private(set) lazy var admissions = slot.counter(
        GatewayMetrics.decisions,
        "outcome=\"admitted\",reason=\"\",mode=\"enforce\""
    )

    /// Counts a malformed request by the status it got.
    package func countParseError(status: Int) {
        if parseErrors[status] == nil {
            parseErrors[status] = slot.counter(GatewayMetrics.parseErrors, "status=\"\(status)\"")
        }
        parseErrors[status]?.increment()
    }

    /// Counts an answer that was broken off.
    func count(_ ending: StreamEnding) {
        switch ending {
        case .revoked: streamsRevoked.increment()
        case .expired: streamsExpired.increment()
        case .goingAway: streamsDrained.increment()
        }
    }

    /// Counts a judgement that refused a request.
    package func countRefusal(_ code: RefusalCode) {
        refusals[code]?.increment()
    }

    /// The counters of an app, or those of `_other` when the table is full; the app remembers its place.
    package func app(_ app: App) -> AppMetrics {
        let known = app.counterPlace.load(ordering: .relaxed)
        if known >= 0, known < appTable.count { return appTable[known] }
        let place = place(of: app)
        app.counterPlace.store(place, ordering: .relaxed)
        return appTable[place]
    }

    private func place(of app: App) -> Int {
        if let known = apps[app.appID] { return known }
        guard apps.count < Self.appLimit else { return 0 }
        let label = (organization: app.organization.rawValue, app: app.appID.rawValue)
        appTable.append(AppMetrics(organization: label.organization, app: label.app, slot: slot))
        apps[app.appID] = appTable.count - 1
        return appTable.count - 1
    }
}

/// The counters of one app.
///
/// Owned by the worker's table; written on the loop.
package final class AppMetrics {
    private let requests: [Counter]
    /// Requests refused for their Origin.
    package let originRefusals: Counter

    init(organization: String, app: String, slot: MetricsSlot) {
        let label = "organization=\"\(Metric.escapedLabel(organization))\",app=\"\(Metric.escapedLabel(app))\""
        self.requests = Outcome.allCases.map { outcome in
            slot.counter(GatewayMetrics.appRequests, "\(label),outcome=\"\(outcome.word)\"")
        }
        self.originRefusals = slot.counter(GatewayMetrics.originRefusals, label)
    }

    /// Counts one request.
    @inline(__always)
    package func count(_ outcome: Outcome) {
        requests[outcome.rawValue].increment()
    }
}
