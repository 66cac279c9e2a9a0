// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// Keeps the addresses of a pool's names fresh: at the start, every 30 s and after a failure.
///
/// Isolated to the Reactor. A name that stops resolving keeps its last addresses: DNS being away is no reason to stop
/// using an upstream that answers.
@Reactor
final class UpstreamResolution {
    private static let interval: Duration = .seconds(30)
    /// At most one look-up of a name each second, however many connections fail.
    private static let coolDown: Duration = .seconds(1)

    private let loop: EventLoop
    private let resolver: Resolver
    private let timer: LoopTimer
    private var endpoints: [UpstreamEndpoint] = []
    private var lastLookUp: [ObjectIdentifier: MonotonicInstant] = [:]

    init(loop: EventLoop, resolver: Resolver) {
        self.loop = loop
        self.resolver = resolver
        self.timer = LoopTimer(loop: loop, ofProcess: true)
    }

    func start(_ endpoints: [UpstreamEndpoint]) {
        self.endpoints = endpoints.filter { $0.settings.literalAddress == nil }
        guard !self.endpoints.isEmpty else { return }
        timer.onFire = { [weak self] in self?.refreshAll() }
        refreshAll()
    }

    func stop() {
        timer.cancel()
        endpoints = []
    }

    /// Looks the endpoint's name up again, unless that was done a moment ago.
    func refresh(_ endpoint: UpstreamEndpoint) {
        guard endpoint.settings.literalAddress == nil, case .tcp(let host, let port) = endpoint.settings.address else {
            return
        }
        let key = ObjectIdentifier(endpoint)
        if let last = lastLookUp[key], loop.now < last.advanced(by: Self.coolDown) { return }
        lastLookUp[key] = loop.now
        let resolver = resolver
        Task { @Reactor in
            do {
                endpoint.lookedUp(try await resolver.resolve(host, port: port, deadline: .seconds(5)))
            } catch {
                // The last addresses stay; a connect failure asks again.
                endpoint.lookedUp([])
            }
        }
    }

    private func refreshAll() {
        for endpoint in endpoints { refresh(endpoint) }
        timer.arm(after: Self.interval)
    }
}
