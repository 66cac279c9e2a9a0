// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Telemetry
import Transport

/// One address a pool sends to: its idle connections, its resolved addresses and its health.
///
/// Isolated to the Reactor. Passive ejection: after `ejectAfter` failures in a row the endpoint is left out for
/// `ejectFor`, doubled on each repeat up to sixteen times; a pool whose endpoints are all out uses them all again
/// (one bad minute must not become an outage).
@Reactor
final class UpstreamEndpoint {
    let settings: EndpointSettings
    /// Idle connections, most recently used last.
    private var idle: [UpstreamConnection] = []
    /// How many they are, for all endpoints of the upstream.
    private let idleCount: Gauge
    /// The HTTP/2 connections, oldest first.
    var streamed: [HTTP2Upstream] = []
    /// Connections in any state but closed.
    ///
    /// The sockets of closed ones wait a few turns of the loop to be closed where many are, and do not count: an upstream
    /// may see more for these milliseconds than `pool.connections`. To count them would only make requests wait.
    private(set) var connectionCount = 0
    /// What the name resolved to; empty until the first answer.
    ///
    /// A literal or a Unix path has its address from the start.
    var addresses: [SocketAddress]
    /// Whether the name is being looked up for the first time.
    private(set) var awaitsAddress: Bool
    /// The pool that has exchanges waiting for that.
    private var waitingPool: UpstreamPool?
    /// The `Host` of requests where the route does not keep the client's.
    let authority: [UInt8]
    /// What the access log says of the endpoint.
    let logMember: [UInt8]
    private var addressCursor = 0
    private var failuresInARow = 0
    private var ejections = 0
    private var ejectedUntil: MonotonicInstant?

    init(_ settings: EndpointSettings, idleCount: Gauge) {
        self.idleCount = idleCount
        self.settings = settings
        self.addresses = settings.literalAddress.map { [$0] } ?? []
        self.awaitsAddress = addresses.isEmpty
        self.authority = Array(settings.authority.utf8)
        self.logMember = JSONLine.member(AccessEntry.upstreamMember, settings.text)
    }

    func isEjected(at now: MonotonicInstant) -> Bool {
        guard let ejectedUntil else { return false }
        return now < ejectedUntil
    }

    /// The address for the next connection: all of a name's addresses take turns.
    func nextAddress() -> SocketAddress? {
        guard !addresses.isEmpty else { return nil }
        addressCursor = (addressCursor + 1) % addresses.count
        return addresses[addressCursor]
    }

    /// Has `pool` hear of the end of the first look-up.
    func tellAddress(_ pool: UpstreamPool) { waitingPool = pool }

    /// A look-up has ended, or another pool knows the name; without addresses the last ones stay.
    func lookedUp(_ found: [SocketAddress]) {
        if !found.isEmpty { addresses = found }
        awaitsAddress = false
        guard let pool = waitingPool else { return }
        waitingPool = nil
        pool.leaseWaiting()
    }

    /// The most recently used idle connection.
    func takeIdle() -> UpstreamConnection? {
        guard let connection = idle.popLast() else { return nil }
        idleCount.add(-1)
        return connection
    }

    /// Keeps `connection` for the next request; false where enough are kept already.
    func keep(_ connection: UpstreamConnection, atMost limit: Int) -> Bool {
        guard idle.count < limit else { return false }
        idle.append(connection)
        idleCount.add(1)
        return true
    }

    /// Whether a kept connection waits.
    var hasIdle: Bool { !idle.isEmpty }

    func connectionOpened() {
        connectionCount += 1
    }

    func connectionGone() {
        connectionCount -= 1
    }

    func connectionClosed(_ connection: UpstreamConnection) {
        connectionGone()
        guard let index = idle.lastIndex(where: { $0 === connection }) else { return }
        idle.remove(at: index)
        idleCount.add(-1)
    }

    func closeIdle() {
        let connections = idle
        idle.removeAll()
        idleCount.add(-connections.count)
        for connection in connections { connection.close() }
        for connection in streamed { connection.retire() }
    }

    func succeeded() {
        failuresInARow = 0
        ejections = 0
    }

    /// Counts a connect failure, a timeout or an invalid answer; true when it has just been ejected.
    func failed(at now: MonotonicInstant, ejectAfter: Int, ejectFor: Duration) -> Bool {
        failuresInARow += 1
        guard ejectAfter > 0, failuresInARow >= ejectAfter else { return false }
        failuresInARow = 0
        ejectedUntil = now.advanced(by: ejectFor * (1 << min(ejections, 4)))
        ejections += 1
        return true
    }
}

extension EndpointSettings {
    /// The address when nothing needs to be resolved.
    var literalAddress: SocketAddress? {
        switch address {
        case .tcp(let host, let port): IPAddress(parsing: host).map { .ip($0, port: port) }
        case .unix(let path): .unix(path: path)
        }
    }

    /// The host to resolve, and for TLS to name and verify; nil for a Unix socket.
    var host: String? {
        switch address {
        case .tcp(let host, _): host
        case .unix: nil
        }
    }

    /// `host[:port]` with the scheme's default port left out.
    var authority: String {
        switch address {
        case .unix: return "localhost"
        case .tcp(let host, let port):
            let name = host.contains(":") ? "[\(host)]" : host
            return port == (usesTLS ? 443 : 80) ? name : "\(name):\(port)"
        }
    }
}
