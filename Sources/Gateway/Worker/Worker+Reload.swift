// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Transport

extension Worker {
    /// Takes a new configuration in place, or keeps the old one and says why; requests go on meanwhile.
    package func reload(_ configuration: Configuration) async throws(SnapshotProblem) {
        await TLSClientContext.refreshSystemTrust(on: pool)
        await counters.prepare(configuration.routes.map(\.name), on: loop)
        let tls = try await ListenerTLS.all(
            of: configuration,
            replacing: snapshot.tls,
            tickets,
            on: loop,
            pool
        )
        let parts = try await SnapshotParts.made(of: configuration, replacing: snapshot, makings, pool)
        let former = snapshot
        snapshot = GatewaySnapshot(parts, tls: tls, counters: counters)
        former.retire(after: snapshot)
        letGo(former)
        // They may have changed meanwhile.
        rotate(tickets)
        proxyHint.forget()
        state.tokens.configure(configuration.tokens)
        handOff.configurationChanged()
        watchMemory()
        shareTurns()
        await tellConnections(former)
    }

    /// Frees what nothing uses any more in turns of its own: hundreds of routes and certificates take milliseconds.
    private func letGo(_ former: GatewaySnapshot) {
        Task { @Reactor [loop] in
            var former: GatewaySnapshot? = former
            var parts = former?.tls.compactMap { $0?.context.parts } ?? []
            var routes = former?.routing.routes ?? []
            await loop.nextTurn()
            former = nil
            while let last = parts.popLast() {
                await last.freed { await loop.nextTurn() }
            }
            while !routes.isEmpty {
                await loop.nextTurn()
                routes.removeLast(min(Self.freedPerTurn, routes.count))
                ProcessMemory.joinFreedBlocks()
            }
        }
    }

    private static let freedPerTurn = 50

    /// Seals new session tickets with the keys of the next period.
    package func rotate(_ tickets: TicketKeys) {
        self.tickets = tickets
        for context in snapshot.tls.map({ $0?.context }) {
            guard let context, context.ticketKeys != nil else { continue }
            context.ticketKeys = tickets
        }
    }
}
