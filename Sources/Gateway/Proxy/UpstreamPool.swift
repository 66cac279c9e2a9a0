// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Telemetry
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
    let streamLimits: StreamLimits
    private let endpoints: [UpstreamEndpoint]
    private let resolution: UpstreamResolution
    let metrics: UpstreamMetrics
    /// Holds the lines that are added to one request.
    var scratch = ByteBuffer()
    private let tls: UpstreamTLSContexts?
    /// The authorities that its endpoints are checked against, as their file was; empty for the system's.
    var authorities: [UInt8] { tls?.authorities ?? [] }
    private var cursor = 0
    private let queue: UpstreamQueue
    let turn: UpstreamTurn
    /// HTTP/2 streams that are over, for the next ones of any connection.
    let streams = HTTP2StreamPool(limit: 256)
    /// Set when a reload dropped this pool: connections close as they come back.
    private var isRetired = false

    init(
        _ settings: UpstreamSettings,
        tls: UpstreamTLSContexts?,
        limits: ParserLimits,
        loop: EventLoop,
        resolver: Resolver,
        metrics: UpstreamMetrics
    ) {
        self.settings = settings
        self.tls = tls
        self.limits = limits
        self.streamLimits = StreamLimits(ofUpstreams: limits)
        self.metrics = metrics
        self.queue = UpstreamQueue(loop: loop)
        self.turn = UpstreamTurn(loop: loop)
        self.loop = loop
        self.endpoints = settings.endpoints.map { UpstreamEndpoint($0, idleCount: metrics.idle) }
        self.resolution = UpstreamResolution(loop: loop, resolver: resolver)
        resolution.start(endpoints)
    }

    /// Finds a place for `exchange`: a stream of an HTTP/2 connection, or an idle connection, unless it wants a fresh one;
    /// else a new one, else its turn.
    func lease(for exchange: Exchange) {
        let isStreamed = isStreamed(exchange)
        guard let endpoint = nextEndpoint(avoiding: exchange.triedEndpoint, isStreamed: isStreamed) else {
            return enqueue(exchange, isStreamed: isStreamed)
        }
        if isStreamed {
            if let connection = streamed(at: endpoint, for: exchange) { return connection.carry(exchange) }
        } else if let connection = kept(at: endpoint, for: exchange) {
            return connection.carry(exchange)
        }
        connect(to: endpoint, for: exchange, isStreamed: isStreamed)
    }

    /// The kept connection that is to carry the exchange.
    private func kept(at endpoint: UpstreamEndpoint, for exchange: Exchange) -> UpstreamConnection? {
        guard !exchange.wantsFresh else { return nil }
        while let connection = endpoint.takeIdle() {
            if mayCarry(connection, exchange) { return connection }
            connection.close()
        }
        return nil
    }

    /// What may be sent once only is not sent to an upstream whose end is here already.
    private func mayCarry(_ connection: UpstreamConnection, _ exchange: Exchange) -> Bool {
        guard !exchange.wantsFresh else { return false }
        return UpstreamRetry.isIdempotent(exchange.request.method) || !connection.stream.peerHasGone
    }

    /// The HTTP/2 connection that is to carry the exchange, if one of those that are there is.
    ///
    /// Where one was lost without a word, so may others be that were there as long.
    private func streamed(at endpoint: UpstreamEndpoint, for exchange: Exchange) -> HTTP2Upstream? {
        guard exchange.wantsFresh, endpoint.connectionCount < settings.pool.connections else {
            return endpoint.streamedWithRoom
        }
        return endpoint.freshStreamed
    }

    /// Whether the exchange shares a connection: HTTP/2 has no `Upgrade`, so WebSockets go by HTTP/1.1.
    private func isStreamed(_ exchange: Exchange) -> Bool {
        settings.protocolSpoken == .h2 && exchange.request.upgrade == .none
    }

    /// Whether a failed connect could go better elsewhere: at another endpoint, or another address of the same name.
    func hasAlternative(to endpoint: UpstreamEndpoint) -> Bool {
        endpoints.count > 1 || endpoint.addresses.count > 1
    }

    /// The exchange no longer waits: its client went away or its time ran out.
    func withdraw(_ exchange: Exchange) {
        queue.remove(exchange)
        if settings.protocolSpoken == .h2 {
            for endpoint in endpoints { endpoint.withdraw(exchange) }
        }
    }

    /// A connection came back clean after an exchange.
    func returned(_ connection: UpstreamConnection) {
        if isRetired { return connection.close() }
        if let next = queue.first(isStreamed: false) {
            // Who wants a fresh one takes its place.
            guard mayCarry(connection, next) else { return connection.close() }
            queue.remove(next)
            return connection.carry(next)
        }
        if !connection.endpoint.keep(connection, atMost: settings.pool.idle) { connection.close() }
    }

    /// A connection ended, whatever the reason; its place is free.
    func closed(_ connection: UpstreamConnection) {
        metrics.single.closed()
        connection.endpoint.connectionClosed(connection)
        placeFreed()
    }

    /// Begins with what other pools know of the same names: a reload while DNS is away changes nothing of that.
    func adoptAddresses(of pools: [UpstreamPool]) {
        for endpoint in endpoints where endpoint.awaitsAddress {
            for pool in pools {
                guard let known = pool.endpoints.first(where: { $0.settings.address == endpoint.settings.address }),
                    !known.addresses.isEmpty
                else { continue }
                endpoint.lookedUp(known.addresses)
                break
            }
        }
    }

    /// A name has been looked up for the first time: those who wait try again.
    func leaseWaiting() {
        for _ in 0..<queue.count {
            guard let next = queue.next() else { return }
            lease(for: next)
        }
    }

    /// One more connection may be opened.
    func placeFreed() {
        if let next = queue.next() { lease(for: next) }
    }

    /// A stream of an HTTP/2 connection ended: there may be room for another.
    func streamEnded(on connection: HTTP2Upstream) {
        if isRetired, connection.isIdle { return connection.retire() }
        while connection.hasRoom, let next = queue.next(isStreamed: true) { connection.carry(next) }
    }

    /// A connect failure, a timeout or an invalid answer of the endpoint.
    func failed(_ endpoint: UpstreamEndpoint) {
        let ejected = endpoint.failed(
            at: loop.now,
            ejectAfter: settings.ejection.failures,
            ejectFor: settings.ejection.duration
        )
        metrics.failures.increment()
        if ejected {
            metrics.ejections.increment()
            endpoint.closeIdle()
        }
        resolution.refresh(endpoint)
    }

    /// Stops the pool after a reload; exchanges under way keep their connections.
    func retire() {
        isRetired = true
        resolution.stop()
        for endpoint in endpoints { endpoint.closeIdle() }
    }

    private func nextEndpoint(avoiding tried: UpstreamEndpoint?, isStreamed: Bool) -> UpstreamEndpoint? {
        var fallback: UpstreamEndpoint?
        for _ in endpoints.indices {
            let endpoint = endpoints[cursor]
            cursor = cursor + 1 == endpoints.count ? 0 : cursor + 1
            guard hasPlace(at: endpoint, isStreamed: isStreamed) else { continue }
            if endpoint === tried || endpoint.awaitsAddress || endpoint.isEjected(at: loop.now) {
                fallback = fallback ?? endpoint
                continue
            }
            return endpoint
        }
        return fallback
    }

    private func hasPlace(at endpoint: UpstreamEndpoint, isStreamed: Bool) -> Bool {
        if endpoint.connectionCount < settings.pool.connections { return true }
        return isStreamed ? endpoint.streamedWithRoom != nil : endpoint.hasIdle
    }

    private func connect(to endpoint: UpstreamEndpoint, for exchange: Exchange, isStreamed: Bool) {
        // Kept connections that it must not be given would have its place, and nobody would wake it.
        if exchange.wantsFresh, endpoint.connectionCount >= settings.pool.connections { endpoint.takeIdle()?.close() }
        guard endpoint.connectionCount < settings.pool.connections else {
            return enqueue(exchange, isStreamed: isStreamed)
        }
        guard let address = endpoint.nextAddress() else {
            guard !endpoint.awaitsAddress else {
                endpoint.tellAddress(self)
                return enqueue(exchange, isStreamed: isStreamed, .nameNotResolved)
            }
            failed(endpoint)
            return exchange.upstreamUnavailable(.nameNotResolved, at: endpoint)
        }
        let tls = endpoint.settings.usesTLS ? tls : nil
        guard isStreamed else {
            return UpstreamConnection(pool: self, endpoint: endpoint, address: address, tls: tls?.single).open(
                for: exchange
            )
        }
        guard let connection = HTTP2Upstream(pool: self, endpoint: endpoint) else {
            return exchange.upstreamUnavailable(.connectFailed, at: endpoint)
        }
        connection.carry(exchange)
        connection.open(address, tls: tls?.streamed, within: exchange.facts.timeouts.connect)
    }

    private func enqueue(_ exchange: Exchange, isStreamed: Bool, _ failure: UpstreamFailure = .poolExhausted) {
        guard !queue.add(exchange, isStreamed: isStreamed, failure: failure) else { return }
        exchange.upstreamUnavailable(.poolExhausted, at: nil)
    }
}
