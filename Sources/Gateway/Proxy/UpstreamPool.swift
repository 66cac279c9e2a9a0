// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

/// The endpoints of one upstream and the exchanges that wait for a connection to one of them.
///
/// Isolated to the Reactor. Endpoints take turns; ejected ones are passed over while another is left. A lease is
/// answered by `upstreamReady` or `upstreamUnavailable` of the exchange, possibly before `lease` returns.
@Reactor
final class UpstreamPool {
    let settings: UpstreamSettings
    let loop: EventLoop
    let limits: ParserLimits
    let streamLimits = StreamLimits()
    private let endpoints: [UpstreamEndpoint]
    private let resolution: UpstreamResolution
    private let tls: TLSClientContext?
    private var cursor = 0
    /// Exchanges that wait because every endpoint is at its connection limit, oldest first.
    private var waiting: [Exchange] = []
    /// Requests that may wait for a connection; more would only time out in the queue.
    private static let mostWaiting = 1024
    /// Set when a reload dropped this pool: connections close as they come back.
    private var isRetired = false

    init(
        _ settings: UpstreamSettings,
        tls: TLSClientContext?,
        limits: ParserLimits,
        loop: EventLoop,
        resolver: Resolver
    ) {
        self.settings = settings
        self.tls = tls
        self.limits = limits
        self.loop = loop
        self.endpoints = settings.endpoints.map { UpstreamEndpoint($0) }
        self.resolution = UpstreamResolution(loop: loop, resolver: resolver)
        resolution.start(endpoints)
    }

    /// Finds a connection for `exchange`: an idle one unless `fresh` is asked for, else a new one, else its turn.
    func lease(for exchange: Exchange, fresh: Bool) {
        guard let endpoint = nextEndpoint(avoiding: exchange.triedEndpoint) else {
            return enqueue(exchange)
        }
        if !fresh, let connection = endpoint.takeIdle() {
            return connection.carry(exchange)
        }
        connect(to: endpoint, for: exchange)
    }

    /// Whether a failed connect could go better elsewhere: at another endpoint, or another address of the same name.
    func hasAlternative(to endpoint: UpstreamEndpoint) -> Bool {
        endpoints.count > 1 || endpoint.addresses.count > 1
    }

    /// The exchange no longer waits: its client went away or its time ran out.
    func withdraw(_ exchange: Exchange) {
        if let index = waiting.firstIndex(where: { $0 === exchange }) { waiting.remove(at: index) }
    }

    /// A connection came back clean after an exchange.
    func returned(_ connection: UpstreamConnection) {
        connection.endpoint.succeeded()
        if isRetired { return connection.close() }
        if let next = takeWaiting() { return connection.carry(next) }
        if !connection.endpoint.keep(connection, atMost: settings.pool.idle) { connection.close() }
    }

    /// A connection ended, whatever the reason; its place is free.
    func closed(_ connection: UpstreamConnection) {
        connection.endpoint.connectionClosed(connection)
        if let next = takeWaiting() { lease(for: next, fresh: false) }
    }

    /// A connect failure, a timeout or an invalid answer of the endpoint.
    func failed(_ endpoint: UpstreamEndpoint) {
        let ejected = endpoint.failed(
            at: loop.now,
            ejectAfter: settings.ejection.failures,
            ejectFor: settings.ejection.duration
        )
        if ejected { endpoint.closeIdle() }
        resolution.refresh(endpoint)
    }

    /// Stops the pool after a reload; exchanges under way keep their connections.
    func retire() {
        isRetired = true
        resolution.stop()
        for endpoint in endpoints { endpoint.closeIdle() }
    }

    private func nextEndpoint(avoiding tried: UpstreamEndpoint?) -> UpstreamEndpoint? {
        var fallback: UpstreamEndpoint?
        for _ in endpoints.indices {
            let endpoint = endpoints[cursor]
            cursor = cursor + 1 == endpoints.count ? 0 : cursor + 1
            guard endpoint.connectionCount < settings.pool.connections || endpoint.hasIdle else { continue }
            if endpoint === tried || endpoint.isEjected(at: loop.now) {
                fallback = fallback ?? endpoint
                continue
            }
            return endpoint
        }
        return fallback
    }

    private func connect(to endpoint: UpstreamEndpoint, for exchange: Exchange) {
        guard endpoint.connectionCount < settings.pool.connections else { return enqueue(exchange) }
        guard let address = endpoint.nextAddress() else {
            failed(endpoint)
            return exchange.upstreamUnavailable(.nameNotResolved, at: endpoint)
        }
        UpstreamConnection(pool: self, endpoint: endpoint).open(
            address,
            tls: endpoint.settings.usesTLS ? tls : nil,
            for: exchange
        )
    }

    private func enqueue(_ exchange: Exchange) {
        guard waiting.count < Self.mostWaiting else {
            return exchange.upstreamUnavailable(.poolExhausted, at: nil)
        }
        waiting.append(exchange)
    }

    private func takeWaiting() -> Exchange? {
        waiting.isEmpty ? nil : waiting.removeFirst()
    }
}
