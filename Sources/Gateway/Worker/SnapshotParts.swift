// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Telemetry
import Transport

/// The upstreams and routes of a configuration, made one after another: hundreds of them take milliseconds.
@Reactor
struct SnapshotParts {
    let settings: Configuration
    private(set) var pools: [UpstreamPool] = []
    private(set) var routes: [Route] = []
    private let former: [UpstreamPool]
    private let limits: ParserLimits
    private let makings: Makings

    /// What pools and routes are made with.
    struct Makings {
        let resolver: Resolver
        let loop: EventLoop
        let slot: MetricsSlot
        let counters: RouteMetricsTable
    }

    /// So long parts are made in one turn of the loop.
    private static let slice: UInt64 = 300_000

    private init(_ settings: Configuration, replacing old: GatewaySnapshot?, _ makings: Makings) {
        self.settings = settings
        self.former = old?.pools ?? []
        self.limits = ParserLimits(settings.http)
        self.makings = makings
    }

    /// Those of a worker that begins; throws what keeps `settings` from being served.
    init(_ settings: Configuration, _ makings: Makings) throws(SnapshotProblem) {
        self.init(settings, replacing: nil, makings)
        let authorities = try UpstreamTLSContexts.authorities(of: settings.upstreams)
        for (upstream, authorities) in zip(settings.upstreams, authorities) { try add(upstream, authorities) }
        for route in settings.routes { add(route) }
    }

    /// Those of a worker that serves, made while it goes on, files read on `pool`; where it throws, nothing has changed.
    static func made(
        of settings: Configuration,
        replacing old: GatewaySnapshot,
        _ makings: Makings,
        _ pool: BlockingPool
    ) async throws(SnapshotProblem) -> SnapshotParts {
        let authorities = try await pool.run { () throws(SnapshotProblem) in
            try UpstreamTLSContexts.authorities(of: settings.upstreams)
        }
        var parts = SnapshotParts(settings, replacing: old, makings)
        var began = MonotonicInstant.readClock().nanoseconds
        func pauseWhereLong() async {
            guard MonotonicInstant.readClock().nanoseconds &- began > slice else { return }
            await makings.loop.nextTurn()
            began = MonotonicInstant.readClock().nanoseconds
        }
        for (upstream, authorities) in zip(settings.upstreams, authorities) {
            try parts.add(upstream, authorities)
            await pauseWhereLong()
        }
        for route in settings.routes {
            parts.add(route)
            await pauseWhereLong()
        }
        return parts
    }

    /// A pool goes on with its connections where all that it was made of is as it was, files included.
    private mutating func add(_ upstream: UpstreamSettings, _ authorities: [UInt8]) throws(SnapshotProblem) {
        let kept = former.first { $0.settings == upstream && $0.limits == limits && $0.authorities == authorities }
        if let kept { return pools.append(kept) }
        let pool = UpstreamPool(
            upstream,
            tls: try UpstreamTLSContexts(for: upstream, authorities: authorities),
            limits: limits,
            loop: makings.loop,
            resolver: makings.resolver,
            metrics: UpstreamMetrics(upstream: upstream.name, slot: makings.slot)
        )
        pool.adoptAddresses(of: former)
        pools.append(pool)
    }

    private mutating func add(_ route: RouteSettings) {
        routes.append(Route(route, pool: pools[route.upstream], metrics: makings.counters[route.name]))
    }
}
